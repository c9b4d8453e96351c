import { Body } from '@nestjs/common';
import { ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsObject, ValidateNested } from 'class-validator';
import { Clock } from '#libs/clock';
import { MachineLookup } from './machine-lookup.js';
import { ServiceController } from './service-controller.decorator.js';
import { ServiceOperation } from './service-operation.decorator.js';
import { WorkOrderLists } from './work-order-lists.js';
import { Identifier } from './request-fields.js';

const MOST_MACHINES = 10_000;
const MOST_WORKING_ORDERS = 10_000;

class WorkOrderAssignment {
  @Identifier({ example: 'M-001' })
  machineId!: string;

  /** In the given order; empty clears the list. */
  @ArrayMaxSize(MOST_WORKING_ORDERS)
  @IsArray()
  @Identifier({ example: '4711', each: true })
  workingOrders!: string[];
}

class WorkOrderListRequest {
  @ApiProperty({ type: WorkOrderAssignment, isArray: true })
  @ArrayMaxSize(MOST_MACHINES)
  @IsArray()
  // without this check a list would pass as an object without fields
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => WorkOrderAssignment)
  machines!: WorkOrderAssignment[];
}

@ServiceController('work orders')
export class WorkOrderListsController {
  constructor(
    private readonly machines: MachineLookup,
    private readonly lists: WorkOrderLists,
    private readonly clock: Clock,
  ) {}

  /** All or nothing: with one unknown machine, no list of the request is set. */
  @ServiceOperation('setWorkOrderList', 'PUT', {
    summary: 'Replaces the work order list of one or more machines.',
    causes: { 422: 'Machine ID missing or does not exist.' },
  })
  @ApiOkResponse({ description: 'Set; no body.' })
  setWorkOrderList(@Body() { machines }: WorkOrderListRequest): void {
    for (const { machineId } of machines) this.machines.getOr422(machineId);
    const now = this.clock.nowSeconds();
    for (const { machineId, workingOrders } of machines) {
      this.lists.setList(machineId, workingOrders, now);
    }
  }
}
