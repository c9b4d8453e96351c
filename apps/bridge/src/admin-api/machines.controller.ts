import { Readable } from 'node:stream';
import {
  Controller,
  Get,
  NotFoundException,
  Optional,
  Param,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { CommandOutcomes } from '../delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { MachineStates } from '../machine-states/index.js';
import { WorkOrderLists } from '../work-orders/index.js';
import { ApiTokenGuard } from './api-token.guard.js';
import { type MachineDetails, machineDetails, machineSummary } from './read-views.js';

const CHUNK_CHARACTERS = 64 * 1024;

/** What this bridge knows of the machines the token may see. */
@Controller('api/machines')
@UseGuards(ApiTokenGuard)
export class MachinesController {
  constructor(
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
    @Optional() private readonly states?: MachineStates,
    @Optional() private readonly lists?: WorkOrderLists,
  ) {}

  /** Written as fast as it is read: of a hundred thousand machines it is 30 MB. */
  @Get()
  list(): StreamableFile {
    const machines = Readable.from(this.listInChunks());
    return new StreamableFile(machines, { type: 'application/json; charset=utf-8' });
  }

  @Get(':machineId')
  details(@Param('machineId') machineId: string): MachineDetails {
    const known = {
      state: this.states?.get(machineId),
      list: this.lists?.lastApplied(machineId),
      outcomes: this.outcomes.recentOf(machineId),
    };
    const details = machineDetails(machineId, this.directory.machines().get(machineId), known);
    if (details === undefined) throw new NotFoundException('nothing is known of such a machine');
    return details;
  }

  /** The JSON of all machines as the directory lists them now. */
  private *listInChunks(): Generator<string> {
    let chunk = '[';
    let separator = '';
    for (const machine of this.directory.machines().values()) {
      const summary = machineSummary(machine, this.states?.get(machine.machineId));
      chunk += separator + JSON.stringify(summary);
      separator = ',';
      if (chunk.length < CHUNK_CHARACTERS) continue;
      yield chunk;
      chunk = '';
    }
    yield `${chunk}]`;
  }
}
