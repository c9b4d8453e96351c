/** Value of `machine.registry.v1`; a machine that is gone is a tombstone. */
export interface MachineRegistryRecord {
  machineId: string;
  displayName: string;
  factoryId: string;
  factoryName: string;
}

/** Value of `machine.classification-reasons.v1`. */
export interface ClassificationReasonsRecord {
  machineId: string;
  reasons: { name: string; code: string }[];
  /** Epoch seconds. */
  updatedAt: number;
}
