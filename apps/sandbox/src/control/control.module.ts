import { Module } from '@nestjs/common';
import { ServiceModule } from '../service/index.js';
import { CallLog } from './calls/call-log.js';
import { CallsController } from './calls/calls.controller.js';
import { FaultBoard } from './faults/fault-board.js';
import { FaultsController } from './faults/faults.controller.js';
import { MachineReporter } from './machines/machine-report.js';
import { MachinesController } from './machines/machines.controller.js';
import { OptionsController } from './options.controller.js';
import { ServiceGate } from './service-gate.js';
import { TimelineController } from './timeline.controller.js';

/** The sandbox's own API under `/sandbox`: the truth, what was received, and what goes wrong. */
@Module({
  imports: [ServiceModule],
  controllers: [
    MachinesController,
    TimelineController,
    OptionsController,
    CallsController,
    FaultsController,
  ],
  providers: [MachineReporter, CallLog, FaultBoard, ServiceGate],
})
export class ControlModule {}
