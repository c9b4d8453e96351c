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

/** The answers of the read API about machines. */
interface MachineSummary extends MachineInfo {
  /** Null while this process does not know it: another one may own the machine. */
  state: MachineStateRecord | null;
}

interface MachineDetails extends MachineSummary {
  /** As this process last set it; `appliedAt` in epoch seconds. */
  workOrderList: AppliedList | null;
  /** Newest first. */
  lastOutcomes: readonly RecentOutcome[];
}

export interface KnownOfMachine {
  state: MachineStateRecord | undefined;
  list: AppliedList | undefined;
  outcomes: readonly RecentOutcome[];
}

function machineSummary(
  { machineId, displayName, factoryId, factoryName }: MachineInfo,
  state: MachineStateRecord | undefined,
): MachineSummary {
  return { machineId, displayName, factoryId, factoryName, state: state ?? null };
}

/**
 * Undefined when nothing is known of the machine.
 *
 * @param listed as the service lists it; where the token may not read machines, it lists none
 */
export function machineDetails(
  machineId: string,
  listed: MachineInfo | undefined,
  known: KnownOfMachine,
): MachineDetails | undefined {
  const { state, list, outcomes } = known;
  const isKnown = listed ?? state ?? list ?? outcomes[0];
  if (isKnown === undefined) return undefined;
  return {
    ...machineSummary(listed ?? unlisted(machineId, state), state),
    workOrderList: list ?? null,
    lastOutcomes: outcomes,
  };
}

function unlisted(machineId: string, state: MachineStateRecord | undefined): MachineInfo {
  const { displayName = machineId, factoryId = '' } = state ?? {};
  return { machineId, displayName, factoryId, factoryName: '' };
}
