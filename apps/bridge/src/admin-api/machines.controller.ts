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
import type { MachineInfo } from '#libs/cloud-client';
import type { MachineStateRecord } from '#libs/contracts';
import { CommandOutcomes, type RecentOutcome } from '../delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { MachineStates } from '../machine-states/index.js';
import { type AppliedList, WorkOrderLists } from '../work-orders/index.js';
import { ApiTokenGuard } from './api-token.guard.js';

const CHUNK_CHARACTERS = 64 * 1024;

@Controller('api/machines')
@UseGuards(ApiTokenGuard)
export class MachinesController {
  constructor(
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
    @Optional() private readonly states?: MachineStates,
    @Optional() private readonly lists?: WorkOrderLists,
  ) {}

  /** Streams the list: a hundred thousand machines are 30 MB. */
  @Get()
  listMachines(): StreamableFile {
    const machines = Readable.from(this.listInChunks());
    return new StreamableFile(machines, { type: 'application/json; charset=utf-8' });
  }

  /** Also answers for an unlisted machine of which something is known: a token may not be allowed to read the list. */
  @Get(':machineId')
  machineDetails(@Param('machineId') machineId: string): MachineDetails {
    const known =
      this.directory.machines().get(machineId) ?? this.states?.watchedMachine(machineId);
    const state = this.states?.recordOf(machineId) ?? null;
    const list = this.lists?.lastApplied(machineId);
    const lastOutcomes = this.outcomes.recentOutcomes.outcomesOfMachine(machineId);
    if ((known ?? state ?? list ?? lastOutcomes[0]) === undefined) {
      throw new NotFoundException('nothing is known of such a machine');
    }
    const { displayName = machineId, factoryId = '' } = state ?? {};
    const unlisted = { machineId, displayName, factoryId, factoryName: '' };
    return { ...(known ?? unlisted), state, workOrderList: list ?? null, lastOutcomes };
  }

  /** JSON of the machines that the directory lists or, while it lists none, of those that this process watches. */
  private *listInChunks(): Generator<string> {
    let chunk = '[';
    let separator = '';
    const listed = this.directory.machines();
    const watched = listed.size === 0 ? this.states?.watchedMachines : undefined;
    for (const machine of watched ?? listed.values()) {
      const state = this.states?.recordOf(machine.machineId) ?? null;
      const summary: MachineSummary = { ...machine, state };
      chunk += separator + JSON.stringify(summary);
      separator = ',';
      if (chunk.length < CHUNK_CHARACTERS) continue;
      yield chunk;
      chunk = '';
    }
    yield `${chunk}]`;
  }
}

interface MachineSummary extends MachineInfo {
  /** Null if this process does not know it: another one may own the machine, or it has no event yet. */
  state: MachineStateRecord | null;
}

interface MachineDetails extends MachineSummary {
  /** As this process last set it; `appliedAt` in epoch seconds. */
  workOrderList: AppliedList | null;
  lastOutcomes: readonly RecentOutcome[];
}
