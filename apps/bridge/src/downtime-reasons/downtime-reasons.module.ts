import { Module } from '@nestjs/common';
import { DeliveryModule } from '../delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { DowntimeReasons, DowntimeReasonsController } from './downtime-reasons.js';

@Module({
  imports: [DeliveryModule, MachineDirectoryModule],
  controllers: [DowntimeReasonsController],
  providers: [DowntimeReasons],
  exports: [DowntimeReasons],
})
export class DowntimeReasonsModule {}
