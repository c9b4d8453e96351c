import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { OutputFrames } from '#libs/schema-registry';
import { NO_TRACING } from '#libs/tracing';
import { ReasonRefresh } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS, TRACING } from '../../platform/index.js';
import { mostUnreadPeriods } from '../derivation/tracked-machine.js';
import { ActivityLogReader } from './activity-log-reader.js';
import { PollHealth } from './poll-health.js';
import { PollingMetrics } from './polling-metrics.js';

/** Dependencies that all watches share. */
@Injectable()
export class WatchContext {
  /** Maximum of periods kept of each machine while its log cannot be read. */
  mostUnreadPeriods = mostUnreadPeriods(1);

  constructor(
    @Inject(BRIDGE_SETTINGS) readonly settings: BridgeSettings,
    readonly clock: Clock,
    readonly client: MachineCloudClient,
    readonly activityLog: ActivityLogReader,
    readonly health: PollHealth,
    readonly metrics: PollingMetrics,
    @Inject(ReasonRefresh) readonly reasons: Pick<ReasonRefresh, 'forgetReasons'>,
    @Inject(TRACING) readonly tracing = NO_TRACING,
    @Optional() readonly frames?: OutputFrames,
  ) {}

  /** Epoch seconds by the later clock, ours or the service's, to judge the service's times; a `Date` may lag. */
  get latestSeconds(): number {
    const { offsetMs } = this.client.clockOffset ?? { offsetMs: 0 };
    return Math.floor((this.clock.nowMs() + Math.max(0, offsetMs)) / 1000);
  }
}
