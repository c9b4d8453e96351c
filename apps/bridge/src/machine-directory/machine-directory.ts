import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { Metric } from 'prom-client';
import { abortable, Clock, realDelayMs } from '#libs/clock';
import {
  type HttpAnswer,
  type IncompleteEntries,
  MachineCloudClient,
  type MachineInfo,
} from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { scrapedGauge } from '#libs/http-api';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import {
  Absence,
  describeFailure,
  type DirectoryAnswer,
  isFailure,
  lookUpFailure,
  type MachineAdmission,
  RecentMisses,
  SharedLookUp,
} from './look-ups.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { ReasonLists } from './reason-lists.js';

interface DirectoryStatus {
  /** Epoch seconds of the list in use; null before the first. */
  loadedAt: number | null;
  /** Why the latest look-up gave no list; null when it did. */
  problem: string | null;
}

/** Called with the whole list each time it has been read, changed or not. */
type MachineListener = (machines: ReadonlyMap<string, MachineInfo>) => void;

const BACK_OFF = { baseMs: 1000, capMs: 30_000 };
const MAX_MISSES = 1000;

/** The machines that the token may see (interface: getMachineInfo), refreshed while the bridge runs. */
@Injectable()
export class MachineDirectory
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly metrics: Metric[];
  private readonly logger = new Logger('MachineDirectory');
  private readonly stopping = new AbortController();
  /** Aborts last: commands that are still being finished look machines up. */
  private readonly ending = new AbortController();
  private readonly listeners = new Set<MachineListener>();
  private readonly lookUp = new SharedLookUp(() => this.readList(), this.ending.signal);
  private readonly misses = new RecentMisses(MAX_MISSES);
  private readonly incomplete = new PassedOverEntries('machines');
  /** Machines that the latest list lacks and an earlier one had. */
  private readonly missing = new Map<string, Absence>();
  /** Whether the list has become empty. */
  private readonly emptiness: Absence;
  private readonly refreshSeconds: number;
  /** Ids of incomplete entries: such machines are neither known nor unknown. */
  private incompleteIds: ReadonlySet<string> = new Set();
  private current: ReadonlyMap<string, MachineInfo> = new Map();
  private loadedAt: number | null = null;
  private problem: string | null = 'not read yet';

  constructor(
    @Inject(BRIDGE_SETTINGS) { directoryRefreshSeconds }: BridgeSettings,
    private readonly client: MachineCloudClient,
    private readonly clock: Clock,
    private readonly reasons: ReasonLists,
  ) {
    this.refreshSeconds = directoryRefreshSeconds;
    this.emptiness = new Absence(directoryRefreshSeconds);
    this.metrics = this.gauges();
  }

  get status(): DirectoryStatus {
    return { loadedAt: this.loadedAt, problem: this.problem };
  }

  machines(): ReadonlyMap<string, MachineInfo> {
    return this.current;
  }

  /** Calls `listener` each time the list has been read; returns the function that removes it. */
  onRefresh(listener: MachineListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  hasMachine(machineId: string): boolean {
    return this.current.has(machineId);
  }

  /**
   * Answers whether the service has the machine. One that is not listed is looked up, at most once in two seconds, by
   * a look-up that begins after this call, unless a recent one has answered already. A failed look-up answers calls
   * for a while, at least until its `Retry-After` is over. `unverifiable` is a machine that only one list lacks, and
   * any while only one list is empty.
   */
  async checkMachine(machineId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    const remembered = this.knownAnswer(machineId) ?? this.misses.answerTo(machineId);
    if (remembered !== undefined) return remembered;
    const answer = await abortable(this.refreshList(), signal);
    const found = this.knownAnswer(machineId) ?? this.misses.answerTo(machineId);
    if (found !== undefined) return found;
    if (isFailure(answer)) return lookUpFailure(answer);
    this.misses.recordMissed(machineId);
    return 'unknown';
  }

  /** Rejects a command for a machine that is not listed, after a further look-up; see {@link checkMachine}. */
  async admitMachine(machineId: string, signal: AbortSignal): Promise<MachineAdmission> {
    const answer = await this.checkMachine(machineId, signal);
    if (typeof answer === 'object') return answer;
    if (answer !== 'unknown') return { kind: 'go' };
    const detail = `the service lists no machine ${machineId}`;
    return { kind: 'rejected', rejection: { code: 'unknown-machine', detail } };
  }

  /** Reads the list again; callers share a look-up until it begins. */
  refreshList(): Promise<HttpAnswer<MachineInfo[]>> {
    return this.lookUp.requestLookUp();
  }

  onApplicationBootstrap(): void {
    // It rejects when the bridge stops.
    void this.keepFresh(this.stopping.signal).catch(() => undefined);
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
  }

  onApplicationShutdown(): void {
    this.ending.abort(new Error('the machine directory is stopping'));
  }

  private async keepFresh(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const answer = await this.tryRefresh(signal);
      if (answer !== undefined && !isFailure(answer)) {
        if (failures > 0) this.logger.log({ msg: 'machine list read again' });
        failures = 0;
        await this.clock.sleepSeconds(this.refreshSeconds, signal);
        continue;
      }
      failures += 1;
      if (failures === 1 && answer !== undefined) {
        this.logger.warn({ msg: 'machine list not read', reason: describeFailure(answer) });
      }
      const askedMs = answer?.kind === 'retry' ? (answer.afterMs ?? 0) : 0;
      await realDelayMs(Math.max(askedMs, backOffMs(failures, BACK_OFF)), signal);
    }
  }

  /** Undefined after a bug; the list is read again later. */
  private async tryRefresh(signal: AbortSignal): Promise<HttpAnswer<MachineInfo[]> | undefined> {
    try {
      return await abortable(this.refreshList(), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.logger.error({ msg: 'the machine list is not refreshed', err: error });
      return undefined;
    }
  }

  private async readList(): Promise<HttpAnswer<MachineInfo[]>> {
    const answer = await this.client.getMachineInfo(this.ending.signal);
    if (answer.kind === 'data') this.replaceList(answer.data, answer.incomplete);
    else if (answer.kind === 'noData') this.replaceList([]);
    else {
      this.problem = describeFailure(answer);
      this.misses.recordFailure(lookUpFailure(answer));
    }
    return answer;
  }

  private knownAnswer(machineId: string): 'known' | 'unverifiable' | undefined {
    if (this.current.has(machineId)) return 'known';
    const isNamed = this.incompleteIds.has(machineId) || this.missing.has(machineId);
    return isNamed ? 'unverifiable' : undefined;
  }

  private replaceList(machines: readonly MachineInfo[], incomplete?: IncompleteEntries): void {
    const ids = incomplete?.ids ?? [];
    // A machine whose entry is incomplete keeps its known data: it is not gone.
    const kept = ids.flatMap((id) => this.current.get(id) ?? []);
    const nowMs = this.clock.monotonicMs();
    const before = this.current;
    const current = new Map<string, MachineInfo>();
    for (const machine of [...kept, ...machines]) current.set(machine.machineId, machine);
    this.current = current;
    this.incompleteIds = new Set(ids);
    this.incomplete.recordList('', incomplete);
    this.loadedAt = this.clock.nowSeconds();
    this.problem = null;
    this.noteMissing(before, nowMs);
    if (this.recordEmptiness(nowMs)) this.misses.recordFailure('unverifiable');
    else this.misses.recordFound({ has: (id) => this.knownAnswer(id) !== undefined });
    for (const listener of this.listeners) {
      try {
        listener(this.current);
      } catch (error) {
        // A failing listener must not end the look-ups.
        this.logger.error({ msg: 'a listener failed', err: error });
      }
    }
  }

  private noteMissing(before: ReadonlyMap<string, MachineInfo>, nowMs: number): void {
    for (const machineId of before.keys()) {
      if (this.current.has(machineId) || this.missing.has(machineId)) continue;
      this.missing.set(machineId, new Absence(this.refreshSeconds));
    }
    for (const [machineId, absence] of this.missing) {
      const isBack = this.current.has(machineId);
      if (isBack || absence.recordAbsence(nowMs)) this.missing.delete(machineId);
    }
  }

  /** Returns whether the list is empty for the first time in a row: a gateway may answer so. */
  private recordEmptiness(nowMs: number): boolean {
    if (this.current.size + this.incompleteIds.size > 0) {
      this.emptiness.endAbsence();
      return false;
    }
    const isOnce = !this.emptiness.recordAbsence(nowMs);
    if (isOnce) this.logger.warn({ msg: 'machine list is empty, not believed before the next' });
    return isOnce;
  }

  private gauges(): Metric[] {
    return [
      scrapedGauge(
        'machine_bridge_directory_machines',
        'Machines the token may see',
        () => this.current.size,
      ),
      scrapedGauge(
        'machine_bridge_directory_age_seconds',
        'Age of the machine list in seconds of the clock; -1 before the first',
        () => (this.loadedAt === null ? -1 : this.clock.nowSeconds() - this.loadedAt),
      ),
      scrapedGauge(
        'machine_bridge_directory_incomplete_entries',
        'Entries passed over because they lack an id or a code, by list',
        ['list'],
        (it) => {
          it.set({ list: 'machines' }, this.incomplete.countEntries());
          it.set({ list: 'reasons' }, this.reasons.incomplete.countEntries(this.current));
        },
      ),
    ];
  }
}
