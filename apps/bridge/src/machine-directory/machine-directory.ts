import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { type Metric } from 'prom-client';
import { abortable, Clock, realDelayMs } from '#libs/clock';
import { type CloudAnswer, type MachineInfo } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { directoryMetrics } from './directory-metrics.js';
import { describeFailure } from './describe-failure.js';
import { type DirectoryAnswer, type DirectoryStatus } from './directory-status.js';
import { MachineList, type MachineListener } from './machine-list.js';
import { ReasonLists } from './reason-lists.js';

const BACK_OFF = { baseMs: 1000, capMs: 30_000 };

/** Who exists and what may be said of them. Keeps the list of machines fresh while the bridge runs. */
@Injectable()
export class MachineDirectory implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('MachineDirectory');
  private readonly stopping = new AbortController();
  /** Of the machines and of their reasons. */
  readonly metrics: Metric[];

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly list: MachineList,
    private readonly reasons: ReasonLists,
  ) {
    this.metrics = directoryMetrics(list, reasons, clock);
  }

  get status(): DirectoryStatus {
    return this.list.status;
  }

  machines(): ReadonlyMap<string, MachineInfo> {
    return this.list.machines;
  }

  /** Calls `listener` each time the list has been read; returns the function that ends it. */
  onRefresh(listener: MachineListener): () => void {
    return this.list.subscribe(listener);
  }

  /** Resolves as soon as a list has been read. */
  async firstLoad(signal: AbortSignal): Promise<void> {
    if (this.status.loadedAt !== null) return;
    let unsubscribe = (): void => undefined;
    const loaded = new Promise<void>((resolve) => {
      unsubscribe = this.onRefresh(() => {
        resolve();
      });
    });
    await abortable(loaded, signal).finally(unsubscribe);
  }

  /** Whether the machine was listed when the list was last read. */
  hasMachine(machineId: string): boolean {
    return this.list.machines.has(machineId);
  }

  /** Whether the machine's reasons, read not long ago, have this one among them. */
  hasReason(machineId: string, reasonId: string): boolean {
    return this.reasons.has(machineId, reasonId);
  }

  /**
   * A machine that is not listed is looked up once more, at most one look-up every two seconds. Whoever asks soon
   * after one that told nothing, or before the time the service has asked for is over, gets the same answer.
   */
  checkMachine(machineId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    return this.list.check(machineId, signal);
  }

  /**
   * A reason that is not on the machine's list is looked up once more. A machine the service does not
   * find is left to the service: it is no verdict on the reason.
   */
  checkReason(machineId: string, reasonId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    return this.reasons.check(machineId, reasonId, signal);
  }

  onApplicationBootstrap(): void {
    // It ends with the stop, and with that as its reason.
    void this.keepFresh(this.stopping.signal).catch(() => undefined);
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
  }

  private async keepFresh(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const answer = await this.refresh(signal);
      if (answer?.kind === 'data' || answer?.kind === 'noData') {
        if (failures > 0) this.logger.log({ msg: 'machine list read again' });
        failures = 0;
        await this.clock.sleepSeconds(this.settings.directoryRefreshSeconds, signal);
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
  private async refresh(signal: AbortSignal): Promise<CloudAnswer<MachineInfo[]> | undefined> {
    try {
      return await abortable(this.list.refresh(), signal);
    } catch (error) {
      signal.throwIfAborted();
      this.logger.error({ msg: 'the machine list is not refreshed', err: error });
      return undefined;
    }
  }
}
