import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { abortable, Clock } from '#libs/clock';
import {
  type ClassificationReason,
  type CloudAnswer,
  MachineCloudClient,
} from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import { BRIDGE_SETTINGS, REASON_LOOK_UPS_AT_ONCE } from '../platform/index.js';
import { type DirectoryAnswer, isFailure, lookUpFailure } from './directory-answer.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { Absence } from './absence.js';
import { RecentMisses } from './recent-misses.js';
import { SharedLookUp } from './shared-look-up.js';

/** Called each time a machine's reasons have been read; null when the service does not know the machine. */
type ReasonListener = (machineId: string, reasons: readonly ClassificationReason[] | null) => void;

/** Messages may name machines that do not exist: what is remembered of them must not grow for ever. */
const MAX_MACHINES = 10_000;

/** The reasons that may be set for each machine (interface: MachineClassification), read when first needed. */
@Injectable()
export class ReasonLists implements OnApplicationShutdown {
  /** Entries of the lists that are passed over. */
  readonly incomplete = new PassedOverEntries('reasons');
  private readonly stopping = new AbortController();
  private readonly lookUps = new CallSlots(REASON_LOOK_UPS_AT_ONCE);
  private readonly lists = new Map<string, ReasonList>();
  /** Of machines that are read though nobody has asked for one of their reasons. */
  private readonly passing = new Map<string, ReasonList>();
  private listener: ReasonListener = () => undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly client: MachineCloudClient,
    private readonly clock: Clock,
  ) {
    // As many look-ups as machines listen to it; that is no leak.
    setMaxListeners(0, this.stopping.signal);
  }

  onRead(listener: ReasonListener): void {
    this.listener = listener;
  }

  has(machineId: string, reasonId: string): boolean {
    return this.lists.get(machineId)?.has(reasonId) === true;
  }

  check(machineId: string, reasonId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    return this.listOf(machineId).check(reasonId, signal);
  }

  /**
   * Reads the machine's reasons anew, whether anybody has asked for one of them or not. Who asks meanwhile
   * shares the look-up; what nobody asks for is not kept, in place of what somebody may ask for again, but where
   * the service asks to be left alone: whoever comes next has to know.
   */
  async refresh(
    machineId: string,
    signal: AbortSignal,
  ): Promise<CloudAnswer<ClassificationReason[]>> {
    const known = this.lists.get(machineId) ?? this.passing.get(machineId);
    const list = known ?? this.newList(machineId);
    if (known === undefined) this.passing.set(machineId, list);
    const answer = await list.refresh(signal).finally(() => {
      this.passing.delete(machineId);
    });
    if (list.isHeld) this.keep(machineId, list);
    return answer;
  }

  onApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
  }

  private listOf(machineId: string): ReasonList {
    const list =
      this.lists.get(machineId) ?? this.passing.get(machineId) ?? this.newList(machineId);
    this.keep(machineId, list);
    return list;
  }

  /** Moves the list to the end of the map, so that the first is the one longest unused. */
  private keep(machineId: string, list: ReasonList): void {
    this.lists.delete(machineId);
    this.lists.set(machineId, list);
    if (this.lists.size > MAX_MACHINES) {
      const [longestUnused] = this.lists.keys();
      if (longestUnused !== undefined) this.lists.delete(longestUnused);
    }
  }

  private newList(machineId: string): ReasonList {
    return new ReasonList({
      read: () => this.lookUps.run(() => this.read(machineId)),
      clock: this.clock,
      maxAgeSeconds: this.settings.reasonsRefreshSeconds,
      stopping: this.stopping.signal,
    });
  }

  private async read(machineId: string): Promise<CloudAnswer<ClassificationReason[]>> {
    const { signal } = this.stopping;
    const answer = await this.client.getClassificationReasons(machineId, signal);
    if (answer.kind === 'rejected') this.listener(machineId, null);
    if (answer.kind !== 'data' && answer.kind !== 'noData') return answer;
    const isEmpty = answer.kind === 'noData';
    this.incomplete.note(machineId, isEmpty ? undefined : answer.incomplete);
    this.listener(machineId, isEmpty ? [] : answer.data);
    return answer;
  }
}

const MAX_MISSES_PER_MACHINE = 100;

type ReasonsAnswer = CloudAnswer<ClassificationReason[]>;

interface ReasonListOptions {
  read: () => Promise<ReasonsAnswer>;
  clock: Clock;
  /** An older list is read again, by the time of the plant. */
  maxAgeSeconds: number;
  /** Aborts when nothing is looked up any more. */
  stopping: AbortSignal;
}

/** The reasons that may be set for one machine, as last read. */
class ReasonList {
  private readonly lookUp: SharedLookUp<ClassificationReason[]>;
  private readonly misses = new RecentMisses(MAX_MISSES_PER_MACHINE);
  private codes: ReadonlySet<string> = new Set();
  /** Epoch seconds; null before the first answer. */
  private loadedAt: number | null = null;
  /** Of all reasons, where there were some. */
  private readonly emptiness: Absence;

  constructor(private readonly options: ReasonListOptions) {
    const { read, stopping } = options;
    this.emptiness = new Absence(options.maxAgeSeconds);
    this.lookUp = new SharedLookUp(async () => this.note(await read()), stopping);
  }

  /** Whether it has been read, not long ago, with this reason on it. */
  has(reasonId: string): boolean {
    return this.isFresh && this.codes.has(reasonId);
  }

  async check(reasonId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    if (this.has(reasonId)) return 'known';
    const remembered = this.misses.answerTo(reasonId);
    // What was on the list when it could last be read is as good as known while it cannot be.
    if (remembered !== undefined) return this.codes.has(reasonId) ? 'known' : remembered;
    const answer = await this.refresh(signal);
    if (this.codes.has(reasonId)) return 'known';
    if (isFailure(answer)) return lookUpFailure(answer);
    if (this.codes.size > 0 && isEmpty(answer)) return 'unverifiable';
    this.misses.missed(reasonId);
    return 'unknown';
  }

  /** Reads it anew; who asks before the look-up starts shares it. */
  refresh(signal: AbortSignal): Promise<ReasonsAnswer> {
    return abortable(this.lookUp.ask(), signal);
  }

  /** The service has asked to be left alone with it, for some time yet. */
  get isHeld(): boolean {
    return this.lookUp.isHeld;
  }

  private get isFresh(): boolean {
    if (this.loadedAt === null) return false;
    const { clock, maxAgeSeconds } = this.options;
    return clock.nowSeconds() - this.loadedAt <= maxAgeSeconds;
  }

  private note(answer: ReasonsAnswer): ReasonsAnswer {
    if (isFailure(answer)) {
      this.misses.failed(lookUpFailure(answer));
      return answer;
    }
    if (!isEmpty(answer)) this.emptiness.end();
    if (this.codes.size > 0 && isEmpty(answer) && this.isEmptyOnce()) {
      this.misses.failed('unverifiable');
    } else {
      const reasons = answer.kind === 'data' ? answer.data : [];
      this.codes = new Set(reasons.map(({ code }) => code));
      this.loadedAt = this.options.clock.nowSeconds();
      this.misses.found(this.codes);
    }
    return answer;
  }

  /** A gateway may answer so once: what was known stands, and the service decides, until another list is empty as well. */
  private isEmptyOnce(): boolean {
    return !this.emptiness.isLasting(this.options.clock.monotonicMs());
  }
}

function isEmpty(answer: ReasonsAnswer): boolean {
  return answer.kind === 'noData' || (answer.kind === 'data' && answer.data.length === 0);
}
