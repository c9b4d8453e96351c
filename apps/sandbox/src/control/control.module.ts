import { Module } from '@nestjs/common';
import { ServiceModule } from '../service/service.module.js';
import { CallLog } from './call-log.js';
import { CallsController } from './calls.controller.js';
import { FaultBoard } from './fault-board.js';
import { FaultsController } from './faults.controller.js';
import { MachineReporter } from './machine-report.js';
import { MachinesController } from './machines.controller.js';
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
