import { Global, Module } from '@nestjs/common';
import { FlowControlModule } from '../flow-control/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { MachineStates } from './machine-states.js';
import { MachineTracking } from './machine-tracking.js';
import { ActivityLogReader } from './polling/activity-log-reader.js';
import { OwnedMachines } from './polling/owned-machines.js';
import { PollHealth } from './polling/poll-health.js';
import { PollLoop } from './polling/poll-loop.js';
import { PollingMetrics } from './polling/polling-metrics.js';
import { WatchContext } from './polling/watch-context.js';

/** Global: the consumer takes {@link MachineTracking} if this flow is on, and cannot import what may be off. */
@Global()
@Module({
  imports: [FlowControlModule, MachineDirectoryModule],
  providers: [
    ActivityLogReader,
    MachineStates,
    MachineTracking,
    OwnedMachines,
    PollHealth,
    PollLoop,
    PollingMetrics,
    WatchContext,
  ],
  exports: [MachineStates, MachineTracking],
})
export class MachineStatesModule {}
