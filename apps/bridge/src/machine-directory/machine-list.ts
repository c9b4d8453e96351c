import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { abortable, Clock } from '#libs/clock';
import {
  type CloudAnswer,
  type IncompleteEntries,
  MachineCloudClient,
  type MachineInfo,
} from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { Absence } from './absence.js';
import {
  describeFailure,
  type DirectoryAnswer,
  isFailure,
  lookUpFailure,
} from './directory-answer.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { RecentMisses } from './recent-misses.js';
import { SharedLookUp } from './shared-look-up.js';

/** How the directory is doing, for readiness and operators. */
export interface DirectoryStatus {
  machines: number;
  /** Epoch seconds of the list in use; null before the first. */
  loadedAt: number | null;
  /** Why the latest look-up gave no list; null when it did. */
  problem: string | null;
}

/** Called with the whole list each time it has been read, changed or not. */
export type MachineListener = (machines: ReadonlyMap<string, MachineInfo>) => void;

const MAX_MISSES = 1000;

/** The machines the token may see (interface: getMachineInfo), as last read. */
@Injectable()
export class MachineList implements OnApplicationShutdown {
  /** Entries of the list that are passed over. */
  readonly incomplete = new PassedOverEntries('machines');
  private readonly logger = new Logger('MachineList');
  private readonly stopping = new AbortController();
  private readonly listeners = new Set<MachineListener>();
  private readonly lookUp: SharedLookUp<MachineInfo[]>;
  private readonly misses = new RecentMisses(MAX_MISSES);
  /** Machines that the latest list does not name, while others before it did. */
  private readonly missing = new Map<string, Absence>();
  /** Of all machines. */
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
  ) {
    this.refreshSeconds = directoryRefreshSeconds;
    this.emptiness = new Absence(directoryRefreshSeconds);
    this.lookUp = new SharedLookUp(() => this.read(), this.stopping.signal);
  }

  get machines(): ReadonlyMap<string, MachineInfo> {
    return this.current;
  }

  get status(): DirectoryStatus {
    return { machines: this.current.size, loadedAt: this.loadedAt, problem: this.problem };
  }

  /**
   * Waits for a look-up that starts after this call, unless the last ones have answered it already. Of a machine that
   * one list alone has left out, and of any while one list alone is empty, that is no verdict.
   */
  async check(machineId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    const remembered = this.knownOf(machineId) ?? this.misses.answerTo(machineId);
    if (remembered !== undefined) return remembered;
    const answer = await abortable(this.refresh(), signal);
    const found = this.knownOf(machineId) ?? this.misses.answerTo(machineId);
    if (found !== undefined) return found;
    if (isFailure(answer)) return lookUpFailure(answer);
    this.misses.missed(machineId);
    return 'unknown';
  }

  /** Reads the list anew; shared with whoever asks before the look-up starts. */
  refresh(): Promise<CloudAnswer<MachineInfo[]>> {
    return this.lookUp.ask();
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: MachineListener): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** Last of all: commands that are still being finished look machines up. */
  onApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
  }

  private async read(): Promise<CloudAnswer<MachineInfo[]>> {
    const answer = await this.client.getMachineInfo(this.stopping.signal);
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
}
