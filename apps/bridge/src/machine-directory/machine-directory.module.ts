import { Module } from '@nestjs/common';
import { MachineDirectory } from './machine-directory.js';
import { MachineList } from './machine-list.js';
import { ReasonLists } from './reason-lists.js';

@Module({
  providers: [MachineDirectory, MachineList, ReasonLists],
  exports: [MachineDirectory],
})
export class MachineDirectoryModule {}
