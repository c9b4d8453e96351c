import { Module } from '@nestjs/common';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { Equipment } from './equipment.js';
import { UnmappedWorkCentres } from './unmapped-work-centres.js';

@Module({
  imports: [MachineDirectoryModule],
  providers: [Equipment, UnmappedWorkCentres],
  exports: [Equipment, UnmappedWorkCentres],
})
export class EquipmentModule {}
