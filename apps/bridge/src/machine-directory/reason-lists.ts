import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { abortable, Clock, realNowMs } from '#libs/clock';
import { type ClassificationReason, type HttpAnswer, MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { Semaphore } from '#libs/delivery';
import { BoundedMap, BRIDGE_SETTINGS, reasonLookUpsAtOnce } from '../platform/index.js';
import {
  Absence,
  type DirectoryAnswer,
  isFailure,
  lookUpFailure,
  RecentMisses,
  SharedLookUp,
} from './look-ups.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { ReasonRecords } from './reason-records.js';

/** Bounded, since messages may name machines that do not exist. */
const MAX_MACHINES = 200_000;
/** A list with its look-up takes more than a kilobyte; its content, a hundred bytes. */
const MAX_LISTS = 10_000;
const MAX_SHARED_SETS = 1000;
const JUST_READ_MS = 30_000;

/** The reasons that may be set for each machine (interface: MachineClassification), read when first needed. */
@Injectable()
export class ReasonLists implements OnApplicationShutdown {
  readonly incomplete = new PassedOverEntries('reasons');
  private readonly stopping = new AbortController();
  private readonly lookUps: Semaphore;
  /** First look-ups wait here, before they take 5 kB each: there may be thousands at once. */
  private readonly firstLookUps: Semaphore;
  /** Lists of the machines whose reasons were checked most recently. */
  private readonly lists = new BoundedMap<string, ReasonList>(MAX_LISTS);
  /** Content of these and earlier lists: without the latter, 100,000 machines in turn took 2.2 times the CPU. */
  private readonly known = new BoundedMap<string, KnownReasons>(MAX_MACHINES);
  /** Many machines have the same reasons: their codes are kept once. */
  private readonly sharedCodeSets = new Map<string, ReadonlySet<string>>();
  /** Lists that are being refreshed and that no check has asked for. */
  private readonly refreshing = new Map<string, ReasonList>();

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly client: MachineCloudClient,
    private readonly clock: Clock,
    @Inject(ReasonRecords) private readonly records: Pick<ReasonRecords, 'recordReasons'>,
  ) {
    const atOnce = reasonLookUpsAtOnce(settings.machineCloud.maxConcurrency);
    this.lookUps = new Semaphore(atOnce);
    this.firstLookUps = new Semaphore(atOnce);
    // The look-up of each machine listens to it, which is no leak.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Whether a fresh list of the machine's reasons has this one. */
  hasReason(machineId: string, reasonId: string): boolean {
    const known = this.known.get(machineId);
    return known !== undefined && this.isFresh(known) && known.codes.has(reasonId);
  }

  /**
   * Looks up a reason that is not listed, unless a look-up has begun since `sinceMs` (real milliseconds; when its
   * message came). A reason of a machine that is not found is `unverifiable`: the service decides.
   */
  async checkReason(
    machineId: string,
    reasonId: string,
    signal: AbortSignal,
    sinceMs = realNowMs(),
  ): Promise<DirectoryAnswer> {
    const check = (): Promise<DirectoryAnswer> => {
      signal.throwIfAborted();
      return this.checkList(machineId, reasonId, signal, sinceMs);
    };
    if (this.cachedList(machineId) !== undefined) return check();
    signal.throwIfAborted();
    return abortable(this.firstLookUps.runTask(check), signal);
  }

  private async checkList(
    machineId: string,
    reasonId: string,
    signal: AbortSignal,
    sinceMs: number,
  ): Promise<DirectoryAnswer> {
    const list = this.cachedList(machineId) ?? this.newList(machineId);
    this.lists.set(machineId, list);
    const answer = await list.check(reasonId, signal, sinceMs);
    this.keepContent(machineId, list.known);
    return answer;
  }

  /**
   * Reads the machine's reasons again; checks meanwhile share the look-up. A list that no check has asked for is not
   * cached, in place of one that may be needed again, unless its `Retry-After` must be known to the next caller.
   */
  async refreshReasons(
    machineId: string,
    signal: AbortSignal,
  ): Promise<HttpAnswer<ClassificationReason[]>> {
    const known = this.cachedList(machineId);
    const list = known ?? this.newList(machineId);
    if (known === undefined) this.refreshing.set(machineId, list);
    const answer = await list.refreshCodes(signal).finally(() => this.refreshing.delete(machineId));
    if (list.isBackingOff) this.lists.set(machineId, list);
    if (this.known.has(machineId)) this.keepContent(machineId, list.known);
    return answer;
  }

  onApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
  }

  private cachedList(machineId: string): ReasonList | undefined {
    return this.lists.get(machineId) ?? this.refreshing.get(machineId);
  }

  private keepContent(machineId: string, known: KnownReasons): void {
    if (known !== NOTHING_KNOWN) this.known.set(machineId, known);
  }

  private newList(machineId: string): ReasonList {
    return new ReasonList(this.known.get(machineId), {
      read: () => this.lookUps.runTask(() => this.readReasons(machineId)),
      isFresh: (known) => this.isFresh(known),
      sharedSetOf: (codes) => this.sharedSetOf(codes),
      clock: this.clock,
      maxAgeSeconds: this.settings.reasonsRefreshSeconds,
      stopping: this.stopping.signal,
    });
  }

  private isFresh({ loadedAtMs }: KnownReasons): boolean {
    return this.clock.monotonicMs() - loadedAtMs <= this.settings.reasonsRefreshSeconds * 1000;
  }

  private sharedSetOf(codes: readonly string[]): ReadonlySet<string> {
    const name = JSON.stringify(codes);
    const known = this.sharedCodeSets.get(name);
    if (known !== undefined) return known;
    if (this.sharedCodeSets.size >= MAX_SHARED_SETS) this.sharedCodeSets.clear();
    const shared = new Set(codes);
    this.sharedCodeSets.set(name, shared);
    return shared;
  }

  private async readReasons(machineId: string): Promise<HttpAnswer<ClassificationReason[]>> {
    const { signal } = this.stopping;
    const answer = await this.client.getClassificationReasons(machineId, signal);
    if (answer.kind === 'rejected') this.records.recordReasons(machineId, null);
    if (answer.kind !== 'data' && answer.kind !== 'noData') return answer;
    const isEmpty = answer.kind === 'noData';
    this.incomplete.recordList(machineId, isEmpty ? undefined : answer.incomplete);
    this.records.recordReasons(machineId, isEmpty ? [] : answer.data);
    return answer;
  }
}

const MAX_MISSES_PER_MACHINE = 100;

type ReasonsAnswer = HttpAnswer<ClassificationReason[]>;

interface KnownReasons {
  readonly codes: ReadonlySet<string>;
  /** By the monotonic clock. */
  readonly loadedAtMs: number;
}

/** Before the first answer. */
const NOTHING_KNOWN: KnownReasons = { codes: new Set(), loadedAtMs: -Infinity };

interface ReasonListOptions {
  read: () => Promise<ReasonsAnswer>;
  isFresh: (known: KnownReasons) => boolean;
  /** The set of these codes, shared by all lists that have them. */
  sharedSetOf: (codes: readonly string[]) => ReadonlySet<string>;
  clock: Clock;
  /** Age from which a list is read again, by the clock. */
  maxAgeSeconds: number;
  /** Aborts when look-ups end. */
  stopping: AbortSignal;
}

/** The reasons that may be set for one machine, as last read. */
class ReasonList {
  private readonly lookUp: SharedLookUp<ClassificationReason[]>;
  private readonly misses = new RecentMisses(MAX_MISSES_PER_MACHINE);
  /** Whether the list has become empty. */
  private readonly emptiness: Absence;
  /** When the look-up that `known` comes from began, in real milliseconds. */
  private readSinceMs = -Infinity;

  constructor(
    public known = NOTHING_KNOWN,
    private readonly options: ReasonListOptions,
  ) {
    const { read, stopping } = options;
    this.emptiness = new Absence(options.maxAgeSeconds);
    this.lookUp = new SharedLookUp(async () => {
      const beganMs = realNowMs();
      return this.recordAnswer(await read(), beganMs);
    }, stopping);
  }

  private get codes(): ReadonlySet<string> {
    return this.known.codes;
  }

  async check(reasonId: string, signal: AbortSignal, sinceMs: number): Promise<DirectoryAnswer> {
    if (this.options.isFresh(this.known) && this.codes.has(reasonId)) return 'known';
    if (this.wasReadSince(sinceMs) && !this.codes.has(reasonId)) return 'unknown';
    const remembered = this.misses.answerTo(reasonId);
    // While the list cannot be read, a reason on the latest one counts as known.
    if (remembered !== undefined) return this.codes.has(reasonId) ? 'known' : remembered;
    const answer = await this.refreshCodes(signal);
    if (this.codes.has(reasonId)) return 'known';
    if (isFailure(answer)) return lookUpFailure(answer);
    if (this.codes.size > 0 && isEmpty(answer)) return 'unverifiable';
    this.misses.recordMissed(reasonId);
    return 'unknown';
  }

  /** Whether a look-up that began since `sinceMs`, and recently, found reasons: later, one may have been added. */
  private wasReadSince(sinceMs: number): boolean {
    const isOfNow = realNowMs() - this.readSinceMs < JUST_READ_MS;
    return isOfNow && sinceMs < this.readSinceMs && this.codes.size > 0;
  }

  /** Reads the list again; callers share a look-up until it begins. */
  refreshCodes(signal: AbortSignal): Promise<ReasonsAnswer> {
    return abortable(this.lookUp.requestLookUp(), signal);
  }

  /** Whether the `Retry-After` of the latest answer still lasts. */
  get isBackingOff(): boolean {
    return this.lookUp.isBackingOff;
  }

  private recordAnswer(answer: ReasonsAnswer, beganMs: number): ReasonsAnswer {
    if (isFailure(answer)) {
      this.misses.recordFailure(lookUpFailure(answer));
      return answer;
    }
    if (!isEmpty(answer)) this.emptiness.endAbsence();
    const isLess = this.codes.size > 0 && isEmpty(answer);
    // A gateway may answer so once: known reasons stay, and the service decides, until a later list is empty too.
    if (isLess && !this.emptiness.recordAbsence(this.options.clock.monotonicMs())) {
      this.misses.recordFailure('unverifiable');
    } else {
      const reasons = answer.kind === 'data' ? answer.data : [];
      const codes = this.options.sharedSetOf(reasons.map(({ code }) => code));
      this.known = { codes, loadedAtMs: this.options.clock.monotonicMs() };
      this.readSinceMs = beganMs;
      this.misses.recordFound(codes);
    }
    return answer;
  }
}

function isEmpty(answer: ReasonsAnswer): boolean {
  return answer.kind === 'noData' || (answer.kind === 'data' && answer.data.length === 0);
}
