import { Global, Module } from '@nestjs/common';
import { FlowControlModule } from '../flow-control/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { MachineStates } from './machine-states.js';
import { ActivityLogReader } from './polling/activity-log-reader.js';
import { PollHealth } from './polling/poll-health.js';
import { PollLoop } from './polling/poll-loop.js';
import { PollingMetrics } from './polling/polling-metrics.js';
import { WatchContext } from './polling/watch-context.js';

/** Global: the consumer injects {@link MachineStates} if this flow is on, and cannot import a module that may be off. */
@Global()
@Module({
  imports: [FlowControlModule, MachineDirectoryModule],
  providers: [ActivityLogReader, MachineStates, PollHealth, PollLoop, PollingMetrics, WatchContext],
  exports: [MachineStates],
})
export class MachineStatesModule {}
