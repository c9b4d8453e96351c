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
  describeFailure,
  type DirectoryAnswer,
  isFailure,
  lookUpFailure,
  type MachineAdmission,
} from './directory-answer.js';
import { Absence, RecentMisses, SharedLookUp } from './look-ups.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { ReasonLists } from './reason-lists.js';

interface DirectoryStatus {
  machines: number;
  /** Epoch seconds of the list in use; null before the first. */
  loadedAt: number | null;
  /** Why the latest look-up gave no list; null when it did. */
  problem: string | null;
}

/** Called with the whole list each time it has been read, changed or not. */
type MachineListener = (machines: ReadonlyMap<string, MachineInfo>) => void;

const BACK_OFF = { baseMs: 1000, capMs: 30_000 };
const MAX_MISSES = 1000;

/** The machines the token may see (interface: getMachineInfo), as last read. Keeps their list fresh while the bridge runs. */
@Injectable()
export class MachineDirectory
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly metrics: Metric[];
  private readonly logger = new Logger('MachineDirectory');
  private readonly stopping = new AbortController();
  /** Last of all: commands that are still being finished look machines up. */
  private readonly ending = new AbortController();
  private readonly listeners = new Set<MachineListener>();
  private readonly lookUp = new SharedLookUp(() => this.read(), this.ending.signal);
  private readonly misses = new RecentMisses(MAX_MISSES);
  private readonly incomplete = new PassedOverEntries('machines');
  /** Machines that the latest list does not name, while others before it did. */
  private readonly missing = new Map<string, Absence>();
  /** Whether the list names no machine any more. */
  private readonly emptiness: Absence;
  private readonly refreshSeconds: number;
  /** Listed by the service, but not completely: that is no verdict on them. */
  private namedAlone: ReadonlySet<string> = new Set();
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
    return { machines: this.current.size, loadedAt: this.loadedAt, problem: this.problem };
  }

  machines(): ReadonlyMap<string, MachineInfo> {
    return this.current;
  }

  /** Calls `listener` each time the list has been read; returns the function that ends it. */
  onRefresh(listener: MachineListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  hasMachine(machineId: string): boolean {
    return this.current.has(machineId);
  }

  /**
   * A machine that is not listed is looked up once more, at most one look-up every two seconds: waits for one that starts
   * after this call, unless the last ones have answered it already. Whoever asks soon after a failed one, or before the
   * time the service has asked for is over, gets the same answer. Of a machine that one list alone has left out, and of
   * any while one list alone is empty, that is no verdict.
   */
  async checkMachine(machineId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    const remembered = this.knownOf(machineId) ?? this.misses.answerTo(machineId);
    if (remembered !== undefined) return remembered;
    const answer = await abortable(this.refresh(), signal);
    const found = this.knownOf(machineId) ?? this.misses.answerTo(machineId);
    if (found !== undefined) return found;
    if (isFailure(answer)) return lookUpFailure(answer);
    this.misses.missed(machineId);
    return 'unknown';
  }

  /** Refuses a command for a machine that is not listed, after a further look-up, see {@link checkMachine}. */
  async admitMachine(machineId: string, signal: AbortSignal): Promise<MachineAdmission> {
    const answer = await this.checkMachine(machineId, signal);
    if (typeof answer === 'object') return answer;
    if (answer !== 'unknown') return { kind: 'go' };
    const detail = `the service lists no machine ${machineId}`;
    return { kind: 'rejected', rejection: { code: 'unknown-machine', detail } };
  }

  /** Reads the list anew; shared with whoever asks before the look-up starts. */
  refresh(): Promise<HttpAnswer<MachineInfo[]>> {
    return this.lookUp.request();
  }

  onApplicationBootstrap(): void {
    // It ends with the stop, and with that as its reason.
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
      const answer = await this.refreshed(signal);
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

  /** Undefined after a defect, which is no reason never to read the list again. */
  private async refreshed(signal: AbortSignal): Promise<HttpAnswer<MachineInfo[]> | undefined> {
    try {
      return await abortable(this.refresh(), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.logger.error({ msg: 'the machine list is not refreshed', err: error });
      return undefined;
    }
  }

  private async read(): Promise<HttpAnswer<MachineInfo[]>> {
    const answer = await this.client.getMachineInfo(this.ending.signal);
    if (answer.kind === 'data') this.replace(answer.data, answer.incomplete);
    else if (answer.kind === 'noData') this.replace([]);
    else {
      this.problem = describeFailure(answer);
      this.misses.failed(lookUpFailure(answer));
    }
    return answer;
  }

  private knownOf(machineId: string): 'known' | 'unverifiable' | undefined {
    if (this.current.has(machineId)) return 'known';
    const isNamed = this.namedAlone.has(machineId) || this.missing.has(machineId);
    return isNamed ? 'unverifiable' : undefined;
  }

  private replace(machines: readonly MachineInfo[], incomplete?: IncompleteEntries): void {
    const ids = incomplete?.ids ?? [];
    // Of a machine whose entry has lost something, what is known still holds: it is not gone.
    const kept = ids.flatMap((id) => this.current.get(id) ?? []);
    const nowMs = this.clock.monotonicMs();
    const before = this.current;
    const current = new Map<string, MachineInfo>();
    for (const machine of [...kept, ...machines]) current.set(machine.machineId, machine);
    this.current = current;
    this.namedAlone = new Set(ids);
    this.incomplete.note('', incomplete);
    this.loadedAt = this.clock.nowSeconds();
    this.problem = null;
    this.noteMissing(before, nowMs);
    if (this.isEmptyOnce(nowMs)) this.misses.failed('unverifiable');
    else this.misses.found({ has: (id) => this.knownOf(id) !== undefined });
    for (const listener of this.listeners) {
      try {
        listener(this.current);
      } catch (error) {
        // One who cannot cope must not end the look-ups for everybody.
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
      if (isBack || absence.isLasting(nowMs)) this.missing.delete(machineId);
    }
  }

  /** Whether the list is empty while the one before was not, or when there was none: a gateway may answer so. */
  private isEmptyOnce(nowMs: number): boolean {
    if (this.current.size + this.namedAlone.size > 0) {
      this.emptiness.end();
      return false;
    }
    const isOnce = !this.emptiness.isLasting(nowMs);
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
          it.set({ list: 'machines' }, this.incomplete.count());
          it.set({ list: 'reasons' }, this.reasons.incomplete.count(this.current));
        },
      ),
    ];
  }
}
