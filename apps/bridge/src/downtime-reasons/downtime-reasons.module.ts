import { Module } from '@nestjs/common';
import { CommandDeliveryModule } from '../command-delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { DowntimeReasons } from './downtime-reasons.js';
import { DowntimeReasonsController } from './downtime-reasons.controller.js';

@Module({
  imports: [CommandDeliveryModule, MachineDirectoryModule],
  controllers: [DowntimeReasonsController],
  providers: [DowntimeReasons],
  exports: [DowntimeReasons],
})
export class DowntimeReasonsModule {}
