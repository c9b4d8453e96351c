import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Clock, everyRealMs } from '#libs/clock';
import { type BridgeSettings, readSettingsFileAsync, settingsFileVersion } from '#libs/config';
import type { OrderOperation } from '#libs/contracts';
import {
  EquipmentMap,
  equipmentMapFormat,
  parseEquipmentMapAsync,
  YAML_OPTIONS,
} from '#libs/erp-formats';
import { MachineDirectory } from '../../machine-directory/index.js';
import { BoundedMap, BRIDGE_SETTINGS } from '../../platform/index.js';

const LOOK_EVERY_MS = 2000;
const MACHINES_NAMED = 5;

/** The machine of an operation, by the current equipment map: `EQUIPMENT_MAP_FILE` is read again when it changes. */
@Injectable()
export class Equipment implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Equipment');
  private readonly file: EquipmentMapFile | undefined;
  private map: EquipmentMap;
  private unlisted = '';
  private isReading = false;
  private stopReading = (): void => undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) { erp }: BridgeSettings,
    private readonly directory: MachineDirectory,
  ) {
    this.map = erp.equipmentMap;
    const { equipmentMapFile: file } = erp;
    this.file = file === undefined ? undefined : new EquipmentMapFile(file.path, file.content);
  }

  /** Undefined if the work centre is not mapped. */
  readonly machineOf: EquipmentMap['machineOf'] = (operation) => this.map.machineOf(operation);

  onApplicationBootstrap(): void {
    this.directory.onRefresh(() => this.compareWithDirectory());
    const { file } = this;
    if (file === undefined) return;
    this.stopReading = everyRealMs(LOOK_EVERY_MS, () => void this.reloadMap(file));
  }

  beforeApplicationShutdown(): void {
    this.stopReading();
  }

  private async reloadMap(file: EquipmentMapFile): Promise<void> {
    // A mount that hangs blocks a thread for each read, and the process has four.
    if (this.isReading) return;
    this.isReading = true;
    const read = await file.readIfChanged();
    this.isReading = false;
    if (read === undefined) return;
    if (read.kind === 'unreadable') {
      this.logger.error({ msg: 'equipment map not read, the last one holds', why: read.why });
      return;
    }
    this.map = read.map;
    this.logger.log({ msg: 'equipment map read again', entries: read.map.size });
    this.compareWithDirectory();
  }

  /** Warns of machines that the service does not list: a mistake in the map, or hidden from the token. */
  private compareWithDirectory(): void {
    const unlisted = [...this.map.machineIds].filter((id) => !this.directory.hasMachine(id));
    const named = unlisted.slice(0, MACHINES_NAMED).join(', ');
    if (named !== this.unlisted && named !== '') {
      const msg = 'equipment map names machines that are not listed';
      this.logger.warn({ msg, machines: unlisted.length, named });
    }
    this.unlisted = named;
  }
}

export type EquipmentMapRead =
  { kind: 'map'; map: EquipmentMap } | { kind: 'unreadable'; why: string };

/** The file of `EQUIPMENT_MAP_FILE`, whose first content was read at start. */
export class EquipmentMapFile {
  /** Version of the file as read last. */
  private version: string | undefined;
  /** Version of the file at the last check. */
  private lastChecked: string | undefined;
  /** The problem reported last, until the map can be read again. */
  private problem: string | undefined;

  /**
   * @param content the trimmed text read at start
   * @param read resolves with the text of a file, or rejects
   */
  constructor(
    private readonly path: string,
    private content: string,
    private readonly read = readSettingsFileAsync,
  ) {}

  /**
   * Never rejects. Undefined while the file is unchanged, or unreadable for the same reason, and while it changes: a
   * file that is being written may be a valid map even where it ends in the middle of a name.
   */
  async readIfChanged(): Promise<EquipmentMapRead | undefined> {
    try {
      // Checked before reading, so that a change in between is noticed the next time.
      const version = await this.currentVersion();
      const isStable = version === this.lastChecked;
      this.lastChecked = version;
      if (version === this.version || !isStable) return undefined;
      const content = (await this.read(this.path)).trim();
      this.version = version;
      // After a problem the same content is read again, or neither its end nor the next problem would be reported.
      if (content === this.content && this.problem === undefined) return undefined;
      this.content = content;
      const format = equipmentMapFormat(this.path);
      const entries = await parseEquipmentMapAsync(content, format, readYamlAside);
      this.problem = undefined;
      return { kind: 'map', map: EquipmentMap.of(entries) };
    } catch (error) {
      const why = (error as Error).message;
      if (why === this.problem) return undefined;
      this.problem = why;
      return { kind: 'unreadable', why };
    }
  }

  private async currentVersion(): Promise<string> {
    try {
      return await settingsFileVersion(this.path);
    } catch (error) {
      // The file may be restored unchanged, which is to be reported.
      [this.version, this.lastChecked] = [undefined, undefined];
      throw error;
    }
  }
}

const PROGRAM = new URL('./yaml-thread.js', import.meta.url);
/** 50,000 entries take 3 s, or 17 s with all processors busy. */
const DEADLINE_MS = 120_000;
/** 50,000 entries take less than 300 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 1024 };

/** Parses in a thread: heartbeats and answers must not wait. @throws the parser's text, or that a limit is reached */
async function readYamlAside(text: string): Promise<unknown> {
  const worker = new Worker(PROGRAM, {
    workerData: { text, options: YAML_OPTIONS },
    resourceLimits: RESOURCE_LIMITS,
  });
  worker.unref();
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    const [said] = (await once(worker, 'message', { signal })) as [
      { content: unknown } | { fault: string },
    ];
    if ('fault' in said) throw new Error(said.fault);
    return said.content;
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`it takes longer than ${DEADLINE_MS / 1000} s`, { cause: error });
  } finally {
    await worker.terminate();
  }
}

/** A work centre that orders name and the equipment map does not have. */
export interface UnmappedWorkCentre {
  /** Null if the order names none. */
  plant: string | null;
  workCentre: string | null;
  /** Operations rejected for it since the start of the process. */
  operations: number;
  /** Some of their orders, the latest last. */
  orderIds: string[];
  /** Epoch seconds. */
  firstSeenAt: number;
  lastSeenAt: number;
}

/** Orders may name any place: those not named for longest are dropped. */
const MOST_PLACES = 1000;
const MOST_EXAMPLES = 5;

/** The entries that the equipment map lacks. Dropped once they are mapped, and at a restart. */
@Injectable()
export class UnmappedWorkCentres {
  private readonly places = new BoundedMap<string, UnmappedWorkCentre>(MOST_PLACES);

  constructor(
    private readonly clock: Clock,
    private readonly equipment: Equipment,
  ) {}

  addPlace(orderId: string, { plant = null, workCentre = null }: Place): void {
    const now = this.clock.nowSeconds();
    const key = JSON.stringify([plant, workCentre]);
    const known = this.places.get(key);
    this.places.set(key, {
      plant,
      workCentre,
      operations: (known?.operations ?? 0) + 1,
      orderIds: [...(known?.orderIds ?? []).filter((id) => id !== orderId), orderId].slice(
        -MOST_EXAMPLES,
      ),
      firstSeenAt: known?.firstSeenAt ?? now,
      lastSeenAt: now,
    });
  }

  /** Unmapped work centres, those with the most operations first. */
  listUnmapped(): UnmappedWorkCentre[] {
    for (const [key, { plant, workCentre }] of this.places) {
      const place = {
        ...(plant !== null && { plant }),
        ...(workCentre !== null && { workCentre }),
      };
      if (this.equipment.machineOf(place) !== undefined) this.places.delete(key);
    }
    return [...this.places.values()].sort((a, b) => b.operations - a.operations);
  }
}

type Place = { [Part in 'plant' | 'workCentre']?: OrderOperation[Part] | null };
