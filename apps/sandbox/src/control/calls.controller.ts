import { Delete, Get, HttpCode, Query } from '@nestjs/common';
import { ControlController } from './control-controller.decorator.js';
import { type Call, type CallExtent, CallFilter, CallLog } from './call-log.js';

@ControlController('calls')
export class CallsController {
  constructor(private readonly calls: CallLog) {}

  @Get()
  listCalls(@Query() filter: CallFilter): Call[] {
    return this.calls.listCalls(filter);
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
