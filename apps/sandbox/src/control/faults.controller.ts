import {
  BadRequestException,
  Body,
  ConflictException,
  Delete,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  ParseArrayPipe,
  Post,
  Put,
} from '@nestjs/common';
import { CONTROL_VALIDATION, ControlController } from './control-controller.decorator.js';
import { type Fault, FaultBoard, MOST_FAULTS } from './fault-board.js';
import { contradictionIn, FaultRequest } from './fault.request.js';

@ControlController('faults')
export class FaultsController {
  constructor(private readonly faults: FaultBoard) {}

  @Get()
  listFaults(): Fault[] {
    return this.faults.listFaults();
  }

  /** Places a fault; the answer (201) has its id. */
  @Post()
  placeFault(@Body() request: FaultRequest): Fault {
    checkFaults([request]);
    if (this.faults.isFull) throw new ConflictException('there are too many faults: remove some');
    return this.faults.placeFault(request);
  }

  /** Replaces all faults at once, so that no call is processed without any. */
  @Put()
  replaceFaults(
    @Body(new ParseArrayPipe({ ...CONTROL_VALIDATION, items: FaultRequest }))
    requests: FaultRequest[],
  ): Fault[] {
    checkFaults(requests);
    if (requests.length > MOST_FAULTS)
      throw new ConflictException(`there may be ${MOST_FAULTS} faults at the most`);
    return this.faults.replaceFaults(requests);
  }

  @Delete()
  @HttpCode(204)
  clearFaults(): void {
    this.faults.clearFaults();
  }

  @Delete(':id')
  @HttpCode(204)
  removeFault(@Param('id') id: string): void {
    if (!this.faults.removeFault(id)) throw new NotFoundException(`no fault ${id}`);
  }
}

/** Removes null fields, which many clients write for absent ones. @throws BadRequestException */
function checkFaults(requests: readonly FaultRequest[]): void {
  for (const request of requests) {
    for (const [name, value] of Object.entries(request)) {
      if (value === null) Reflect.deleteProperty(request, name);
    }
    const contradiction = contradictionIn(request);
    if (contradiction !== null) throw new BadRequestException(contradiction);
  }
}
