import { Injectable } from '@nestjs/common';
import type { Metric } from 'prom-client';
import { Clock } from '#libs/clock';
import type { MachineInfo } from '#libs/cloud-client';
import type { MachineStateRecord } from '#libs/contracts';
import { scrapedGauge } from '#libs/http-api';
import { MachineDirectory } from '../machine-directory/index.js';
import { stateRecord } from './derivation/tracked-machine.js';
import { ActivityLogReader } from './polling/activity-log-reader.js';
import { OwnedMachines } from './polling/owned-machines.js';
import { PollHealth } from './polling/poll-health.js';
import { PollLoop } from './polling/poll-loop.js';
import { PollingMetrics } from './polling/polling-metrics.js';

@Injectable()
export class MachineStates {
  constructor(
    private readonly machines: OwnedMachines,
    private readonly directory: MachineDirectory,
    private readonly health: PollHealth,
    private readonly polling: PollingMetrics,
    private readonly activityLog: ActivityLogReader,
    private readonly loop: PollLoop,
    private readonly clock: Clock,
  ) {}

  get metrics(): Metric[] {
    const { machines, health, activityLog } = this;
    return [
      ...this.polling.all,
      scrapedGauge(
        'machine_bridge_machines',
        'Machines of this process by observation',
        ['observation'],
        (it) => {
          for (const { observation = 'unknown' } of machines.watches) it.inc({ observation });
        },
      ),
      scrapedGauge(
        'machine_bridge_failing_machines',
        'Machines of this process whose latest poll failed, by factory',
        ['factory'],
        (it) => {
          for (const { machineId, info } of machines.watches) {
            it.inc({ factory: info.factoryId }, health.isFailing(machineId) ? 1 : 0);
          }
        },
      ),
      scrapedGauge(
        'machine_bridge_polls_paused',
        '1 while no poll is answered and only one now and then is made',
        () => (health.isPaused ? 1 : 0),
      ),
      scrapedGauge(
        'machine_bridge_activity_logs_behind',
        'Machines of this process whose activity log is refused, fails, or lags by more than it takes to settle',
        () => activityLog.behindMachines,
      ),
    ];
  }

  get topic(): OwnedMachines['topic'] {
    return this.machines.topic;
  }

  /** Machines that this process watches, also while no directory is loaded. */
  get observedMachines(): MachineInfo[] {
    return this.machines.watches.flatMap(({ hasEnded, info }) => (hasEnded ? [] : [info]));
  }

  /** Undefined for a machine that another process owns or that has not been answered for yet. */
  recordOf(machineId: string): MachineStateRecord | undefined {
    const tracked = this.machines.findWatch(machineId)?.tracked;
    return tracked === undefined ? undefined : (stateRecord(tracked) ?? undefined);
  }

  get lastError(): { why: string; at: number } | null {
    return this.health.lastError;
  }

  /** Number of machines that are due for a poll. */
  get waiting(): number {
    return this.loop.dueMachines;
  }

  /** Seconds of the clock since a poll was last answered; 0 while no machine is due. */
  get oldestWaitingSeconds(): number {
    if (this.waiting === 0) return 0;
    return Math.floor((this.clock.monotonicMs() - this.health.answeredMs) / 1000);
  }

  /** Why no machine is observed, as text; undefined while some are. */
  get pausedBecause(): string | undefined {
    const watched = this.machines.watches.length;
    if (watched > 0) {
      const allFail = this.health.failingMachines >= watched;
      return this.health.pausedBecause ?? (allFail ? this.health.failureText : undefined);
    }
    const { loadedAt, problem } = this.directory.status;
    return loadedAt === null ? `no machine list: ${problem ?? ''}` : undefined;
  }
}
