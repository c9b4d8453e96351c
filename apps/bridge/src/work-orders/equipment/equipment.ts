import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Clock, everyRealMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import type { OrderOperation } from '#libs/contracts';
import {
  EquipmentMap,
  equipmentMapFormat,
  parseEquipmentMapAside,
  YAML_OPTIONS,
} from '#libs/erp-formats';
import { MachineDirectory } from '../../machine-directory/index.js';
import { BoundedMap, BRIDGE_SETTINGS } from '../../platform/index.js';

const LOOK_EVERY_MS = 2000;
const MACHINES_NAMED = 5;

/** Which machine an operation runs on, by the map as it is now: `EQUIPMENT_MAP_FILE` is read again when it changes. */
@Injectable()
export class Equipment implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Equipment');
  private readonly file: EquipmentMapFile | undefined;
  private map: EquipmentMap;
  private unlisted = '';
  private isLooking = false;
  private stopLooking = (): void => undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) { erp }: BridgeSettings,
    private readonly directory: MachineDirectory,
  ) {
    this.map = erp.equipmentMap;
    const { equipmentMapFile: file } = erp;
    this.file = file === undefined ? undefined : new EquipmentMapFile(file.path, file.content);
  }

  /** Undefined for a work centre that is not mapped. */
  readonly machineOf: EquipmentMap['machineOf'] = (operation) => this.map.machineOf(operation);

  onApplicationBootstrap(): void {
    this.directory.onRefresh(() => this.compareWithDirectory());
    const { file } = this;
    if (file === undefined) return;
    this.stopLooking = everyRealMs(LOOK_EVERY_MS, () => void this.look(file));
  }

  beforeApplicationShutdown(): void {
    this.stopLooking();
  }

  private async look(file: EquipmentMapFile): Promise<void> {
    // A mount that hangs keeps a thread for each look, of which the process has four.
    if (this.isLooking) return;
    this.isLooking = true;
    const read = await file.readIfChanged();
    this.isLooking = false;
    if (read === undefined) return;
    if (read.kind === 'unreadable') {
      this.logger.error({ msg: 'equipment map not read, the last one holds', why: read.why });
      return;
    }
    this.map = read.map;
    this.logger.log({ msg: 'equipment map read again', entries: read.map.size });
    this.compareWithDirectory();
  }

  /** A machine that the service does not list is a mistake in the map, or one the token may not see. */
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

/** The file behind `EQUIPMENT_MAP_FILE`, which was read once at start. */
export class EquipmentMapFile {
  /** Version of the file that was read last. */
  private version: string | undefined;
  /** Version of the file at the last look. */
  private seen: string | undefined;
  /** The problem reported last, until there is a map again. */
  private problem: string | undefined;

  /**
   * @param content as it was read at start, without white space around it
   * @param read resolves with the text of a file, or rejects
   */
  constructor(
    private readonly path: string,
    private content: string,
    private readonly read = (file: string): Promise<string> => readFile(file, 'utf8'),
  ) {}

  /**
   * Never rejects. Undefined while the file is the one that was read last, or cannot be read for the same reason,
   * and while it changes: one that somebody is writing may be a map even where it ends in the middle of a name.
   */
  async readIfChanged(): Promise<EquipmentMapRead | undefined> {
    try {
      // Looked at before reading: a change in between is then seen the next time.
      const version = await this.look();
      const isStable = version === this.seen;
      this.seen = version;
      if (version === this.version || !isStable) return undefined;
      const content = (await this.read(this.path)).trim();
      this.version = version;
      // After a problem also what it was before: else neither its end nor the next one would be reported.
      if (content === this.content && this.problem === undefined) return undefined;
      this.content = content;
      const format = equipmentMapFormat(this.path);
      const entries = await parseEquipmentMapAside(content, format, readYamlAside);
      this.problem = undefined;
      return { kind: 'map', map: EquipmentMap.of(entries) };
    } catch (error) {
      const why = (error as Error).message;
      if (why === this.problem) return undefined;
      this.problem = why;
      return { kind: 'unreadable', why };
    }
  }

  private async look(): Promise<string> {
    try {
      // Besides time and size the inode: a mounted file is replaced by switching a link.
      const { mtimeNs, size, ino } = await stat(this.path, { bigint: true });
      return [mtimeNs, size, ino].join(':');
    } catch (error) {
      // It may be put back as it was, which is to be reported.
      [this.version, this.seen] = [undefined, undefined];
      throw error;
    }
  }
}

const PROGRAM = new URL('./yaml-thread.js', import.meta.url);
/** 50,000 entries take 3 s, and 17 s where all processors are busy. */
const DEADLINE_MS = 120_000;
/** 50,000 entries take less than 300 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 1024 };

/** In a thread: heartbeats and answers must not wait. @throws what the parser says, or that it takes too much */
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

/** A place that orders name and no machine is mapped for. */
export interface UnmappedWorkCentre {
  /** Null where the order names none. */
  plant: string | null;
  workCentre: string | null;
  /** Operations that were rejected for it since this process runs. */
  operations: number;
  /** Some of the orders they belong to, the latest last. */
  orderIds: string[];
  /** Epoch seconds. */
  firstSeenAt: number;
  lastSeenAt: number;
}

/** Orders may name any place: those not named for longest are forgotten. */
const MOST_PLACES = 1000;
const MOST_EXAMPLES = 5;

/** What to put into the equipment map next. Forgotten once it is found mapped, and at a restart. */
@Injectable()
export class UnmappedWorkCentres {
  private readonly places = new BoundedMap<string, UnmappedWorkCentre>(MOST_PLACES);

  constructor(
    private readonly clock: Clock,
    private readonly equipment: Equipment,
  ) {}

  note(orderId: string, { plant = null, workCentre = null }: Place): void {
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

  /** The work centres with the most operations first. */
  list(): UnmappedWorkCentre[] {
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
