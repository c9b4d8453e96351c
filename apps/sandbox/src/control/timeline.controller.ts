import { BadRequestException, Body, Post } from '@nestjs/common';
import { Plant } from '../plant/plant.js';
import { readTimelineScript } from '../plant/read-timeline-script.js';
import { ControlController } from './control-controller.decorator.js';

@ControlController('timeline')
export class TimelineController {
  constructor(private readonly plant: Plant) {}

  /** Replaces all machines by those of a timeline script. Received lists and reasons are kept. */
  @Post()
  replaceMachines(@Body() script: object): { machines: number } {
    const read = readTimelineScript(script);
    if (!read.ok) throw new BadRequestException(read.problems.join('; '));
    this.plant.replaceMachines(read.machines);
    return { machines: read.machines.length };
  }
}
