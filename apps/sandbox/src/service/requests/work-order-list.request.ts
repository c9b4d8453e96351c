import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, ValidateNested } from 'class-validator';
import { Identifier } from './fields.js';

const MOST_MACHINES = 10_000;
const MOST_WORKING_ORDERS = 10_000;

export class WorkOrderAssignment {
  @Identifier({ example: 'M-001' })
  machineId!: string;

  /** Kept in the order given; empty clears the list. */
  @IsArray()
  @ArrayMaxSize(MOST_WORKING_ORDERS)
  @Identifier({ example: '4711', each: true })
  workingOrders!: string[];
}

/** Request of setWorkOrderList. */
export class WorkOrderListRequest {
  @ApiProperty({ type: WorkOrderAssignment, isArray: true })
  @IsArray()
  @ArrayMaxSize(MOST_MACHINES)
  @ValidateNested({ each: true })
  @Type(() => WorkOrderAssignment)
  machines!: WorkOrderAssignment[];
}
