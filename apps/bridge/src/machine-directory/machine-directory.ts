import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Metric } from 'prom-client';
import { abortable, Clock, realDelayMs } from '#libs/clock';
import type { CloudAnswer, MachineInfo } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { backOffMs } from '#libs/delivery';
import { scrapedGauge } from '#libs/http-api';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import {
  describeFailure,
  type DirectoryAnswer,
  type MachineAdmission,
} from './directory-answer.js';
import { type DirectoryStatus, MachineList, type MachineListener } from './machine-list.js';
import { ReasonLists } from './reason-lists.js';

const BACK_OFF = { baseMs: 1000, capMs: 30_000 };

/** Machines and their reasons, for those who check commands. Keeps the list of machines fresh while the bridge runs. */
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
   * after a failed one, or before the time the service has asked for is over, gets the same answer.
   */
  checkMachine(machineId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    return this.list.check(machineId, signal);
  }

  /** Refuses a command for a machine that is not listed, after a further look-up, see {@link checkMachine}. */
  async admitMachine(machineId: string, signal: AbortSignal): Promise<MachineAdmission> {
    const answer = await this.checkMachine(machineId, signal);
    if (typeof answer === 'object') return answer;
    if (answer !== 'unknown') return { kind: 'go' };
    const detail = `the service lists no machine ${machineId}`;
    return { kind: 'rejected', rejection: { code: 'unknown-machine', detail } };
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

/** Gauges that are collected at each scrape. */
function directoryMetrics(list: MachineList, reasons: ReasonLists, clock: Clock): Metric[] {
  return [
    scrapedGauge('machine_bridge_directory_machines', 'Machines the token may see', [], (gauge) => {
      gauge.set(list.machines.size);
    }),
    scrapedGauge(
      'machine_bridge_directory_age_seconds',
      'Age of the machine list in seconds of the clock; -1 before the first',
      [],
      (gauge) => {
        const { loadedAt } = list.status;
        gauge.set(loadedAt === null ? -1 : clock.nowSeconds() - loadedAt);
      },
    ),
    scrapedGauge(
      'machine_bridge_directory_incomplete_entries',
      'Entries passed over because they lack an id or a code, by list',
      ['list'],
      (gauge) => {
        gauge.set({ list: 'machines' }, list.incomplete.count());
        gauge.set({ list: 'reasons' }, reasons.incomplete.count(list.machines));
      },
    ),
  ];
}
