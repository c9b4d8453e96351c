import { Delete, Get, HttpCode, Query } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';
import { OPERATION_NAMES } from '../service/operations.js';
import { ControlController } from './control-controller.decorator.js';
import { type Call, type CallExtent, CallLog } from './call-log.js';

class CallQuery {
  @IsOptional() @IsIn(OPERATION_NAMES) operation?: string;
  @IsOptional() @IsString() machineId?: string;
  /** Only calls with a higher sequence number. */
  @IsOptional() @Type(() => Number) @IsInt() @Min(0) since?: number;
  /** Page size for a long log. */
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) limit?: number;
}

@ControlController('calls')
export class CallsController {
  constructor(private readonly calls: CallLog) {}

  @Get()
  listCalls(@Query() query: CallQuery): Call[] {
    return this.calls.listCalls(query);
  }

  @Get('extent')
  extent(): CallExtent {
    return this.calls.extent;
  }

  @Delete()
  @HttpCode(204)
  clearCalls(): void {
    this.calls.clearCalls();
  }
}
