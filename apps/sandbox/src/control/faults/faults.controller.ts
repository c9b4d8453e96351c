import {
  BadRequestException,
  Body,
  ConflictException,
  Delete,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Post,
} from '@nestjs/common';
import { ControlController } from '../control-controller.decorator.js';
import { type Fault, FaultBoard } from './fault-board.js';
import { contradictionIn, FaultRequest } from './fault.request.js';

@ControlController('faults')
export class FaultsController {
  constructor(private readonly faults: FaultBoard) {}

  @Get()
  list(): Fault[] {
    return this.faults.list();
  }

  /** Places a fault; the answer (201) carries its id. */
  @Post()
  add(@Body() request: FaultRequest): Fault {
    const contradiction = contradictionIn(request);
    if (contradiction !== null) throw new BadRequestException(contradiction);
    if (this.faults.isFull) throw new ConflictException('there are too many faults: remove some');
    return this.faults.add(request);
  }

  @Delete()
  @HttpCode(204)
  clear(): void {
    this.faults.clear();
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@Param('id') id: string): void {
    if (!this.faults.remove(id)) throw new NotFoundException(`no fault ${id}`);
  }
}
