import type { OrderOperation } from '#libs/contracts';

import type { EquipmentMapEntry } from './parse-equipment-map.js';

/** Which machine an operation runs on. */
export class EquipmentMap {
  private constructor(
    /** machineIds by plant, by work centre; null: no map is configured. */
    private readonly machines: ReadonlyMap<string, ReadonlyMap<string, string>> | null,
  ) {}

  static of(entries: readonly EquipmentMapEntry[]): EquipmentMap {
    const machines = new Map<string, Map<string, string>>();
    for (const { plant, workCentre, machineId } of entries) {
      const plants = machines.get(workCentre) ?? new Map<string, string>();
      machines.set(workCentre, plants.set(plant, machineId));
    }
    return new EquipmentMap(machines);
  }

  /** Without a map a work centre is taken as the machineId. */
  static empty(): EquipmentMap {
    return new EquipmentMap(null);
  }

  /** How many work centres it maps. */
  get size(): number {
    let size = 0;
    for (const plants of this.machines?.values() ?? []) size += plants.size;
    return size;
  }

  /** Every machine the map names; none without a map. */
  get machineIds(): ReadonlySet<string> {
    const plants = [...(this.machines?.values() ?? [])];
    return new Set(plants.flatMap((machines) => [...machines.values()]));
  }

  /**
   * A machineId in the operation wins. An operation without a plant is mapped when exactly one plant has
   * its work centre. undefined: the work centre is not mapped (`unmapped-work-centre`).
   */
  machineOf(
    operation: Pick<OrderOperation, 'machineId' | 'workCentre' | 'plant'>,
  ): string | undefined {
    const { machineId, workCentre, plant } = operation;
    if (machineId !== undefined || workCentre === undefined) return machineId;
    if (this.machines === null) return workCentre;
    const plants = this.machines.get(workCentre);
    if (plant !== undefined) return plants?.get(plant);
    return plants?.size === 1 ? [...plants.values()][0] : undefined;
  }
}
