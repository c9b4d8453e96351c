import { Module } from '@nestjs/common';
import { MachineDirectory } from './machine-directory.js';
import { ReasonLists } from './reason-lists.js';
import { ReasonRecords } from './reason-records.js';
import { ReasonRefresh } from './reason-refresh.js';

@Module({
  providers: [MachineDirectory, ReasonLists, ReasonRecords, ReasonRefresh],
  exports: [MachineDirectory, ReasonLists, ReasonRefresh],
})
export class MachineDirectoryModule {}
