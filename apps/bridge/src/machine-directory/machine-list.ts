import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { abortable, Clock } from '#libs/clock';
import {
  type CloudAnswer,
  type IncompleteEntries,
  MachineCloudClient,
  type MachineInfo,
} from '#libs/cloud-client';
import { describeFailure } from './describe-failure.js';
import { type DirectoryAnswer, type DirectoryStatus } from './directory-status.js';
import { isFailure, lookUpFailure } from './look-up-failure.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { RecentMisses } from './recent-misses.js';
import { SharedLookUp } from './shared-look-up.js';

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
  /** Listed by the service, but not completely: that is no verdict on them. */
  private namedAlone: ReadonlySet<string> = new Set();
  private current: ReadonlyMap<string, MachineInfo> = new Map();
  private loadedAt: number | null = null;
  private problem: string | null = 'not read yet';

  constructor(
    private readonly client: MachineCloudClient,
    private readonly clock: Clock,
  ) {
    this.lookUp = new SharedLookUp(() => this.read(), this.stopping.signal);
  }

  get machines(): ReadonlyMap<string, MachineInfo> {
    return this.current;
  }

  get status(): DirectoryStatus {
    return { machines: this.current.size, loadedAt: this.loadedAt, problem: this.problem };
  }

  /** Waits for a look-up that starts after this call, unless the last ones have answered it already. */
  async check(machineId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    if (this.current.has(machineId)) return 'known';
    if (this.namedAlone.has(machineId)) return 'unverifiable';
    const remembered = this.misses.answerTo(machineId);
    if (remembered !== undefined) return remembered;
    const answer = await abortable(this.refresh(), signal);
    if (this.current.has(machineId)) return 'known';
    if (this.namedAlone.has(machineId)) return 'unverifiable';
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

  private replace(machines: readonly MachineInfo[], incomplete?: IncompleteEntries): void {
    const ids = incomplete?.ids ?? [];
    // Of a machine whose entry has lost something, what is known still holds: it is not gone.
    const kept = ids.flatMap((id) => this.current.get(id) ?? []);
    const listed = [...kept, ...machines];
    this.current = new Map(listed.map((machine) => [machine.machineId, machine]));
    this.namedAlone = new Set(ids);
    this.incomplete.note('', incomplete);
    this.loadedAt = this.clock.nowSeconds();
    this.problem = null;
    this.misses.found({ has: (id) => this.current.has(id) || this.namedAlone.has(id) });
    for (const listener of this.listeners) {
      try {
        listener(this.current);
      } catch (error) {
        // One who cannot cope must not end the look-ups for everybody.
        this.logger.error({ msg: 'a listener failed', err: error });
      }
    }
  }
}
