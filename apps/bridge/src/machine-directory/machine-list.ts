import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type CloudAnswer, MachineCloudClient, type MachineInfo } from '#libs/cloud-client';
import { describeFailure } from './describe-failure.js';
import { type DirectoryStatus } from './directory-status.js';
import { SharedLookUp } from './shared-look-up.js';

/** Called with the whole list each time it has been read, changed or not. */
export type MachineListener = (machines: ReadonlyMap<string, MachineInfo>) => void;

/** The machines the token may see (interface: getMachineInfo), as last read. */
@Injectable()
export class MachineList implements OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly listeners = new Set<MachineListener>();
  private readonly lookUp: SharedLookUp<CloudAnswer<MachineInfo[]>>;
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
    switch (answer.kind) {
      case 'data':
        this.replace(answer.data);
        break;
      case 'noData':
        this.replace([]);
        break;
      default:
        this.problem = describeFailure(answer);
    }
    return answer;
  }

  private replace(machines: readonly MachineInfo[]): void {
    this.current = new Map(machines.map((machine) => [machine.machineId, machine]));
    this.loadedAt = this.clock.nowSeconds();
    this.problem = null;
    for (const listener of this.listeners) listener(this.current);
  }
}
