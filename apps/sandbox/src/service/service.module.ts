import { Module } from '@nestjs/common';
import { Classifications } from './classifications.js';
import { ClassificationsController } from './classifications.controller.js';
import { LoginController } from './login.controller.js';
import { MachineInfoController } from './machine-info.controller.js';
import { MachineLookup } from './machine-lookup.js';
import { MachineStatesController } from './machine-states.controller.js';
import { WorkOrderLists } from './work-order-lists.js';
import { WorkOrderListsController } from './work-order-lists.controller.js';

/** The Machine Data Service: six operations and the login. */
@Module({
  controllers: [
    MachineInfoController,
    MachineStatesController,
    ClassificationsController,
    WorkOrderListsController,
    LoginController,
  ],
  providers: [MachineLookup, Classifications, WorkOrderLists],
  exports: [MachineLookup, Classifications, WorkOrderLists],
})
export class ServiceModule {}
