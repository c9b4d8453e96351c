import { Injectable } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { Plant } from '../plant/plant.js';
import { seededRandom } from '../plant/seeded-random.js';
import type { Operation } from '../service/operations.js';
import type { FaultRequest } from './fault.request.js';

export interface Fault extends FaultRequest {
  id: string;
  applied: number;
}

interface PlacedFault {
  fault: Fault;
  expiresAtMs: number;
}

export const MOST_FAULTS = 1000;

/** The active faults. The first one placed that matches applies to a call. */
@Injectable()
export class FaultBoard {
  private placed: PlacedFault[] = [];
  private lastId = 0;
  /** Seeded, so that a run with rates is reproducible. */
  private readonly random = seededRandom('faults');

  constructor(private readonly plant: Plant) {}

  get isFull(): boolean {
    return this.listFaults().length >= MOST_FAULTS;
  }

  placeFault(request: FaultRequest): Fault {
    this.lastId += 1;
    const fault = Object.assign(request, { id: `fault-${this.lastId}`, applied: 0 });
    const lifeMs = (request.durationSeconds ?? Infinity) * 1000;
    this.placed.push({ fault, expiresAtMs: realNowMs() + lifeMs });
    return fault;
  }

  replaceFaults(requests: readonly FaultRequest[]): Fault[] {
    this.clearFaults();
    return requests.map((request) => this.placeFault(request));
  }

  listFaults(): Fault[] {
    const now = realNowMs();
    this.placed = this.placed.filter(({ fault, expiresAtMs }) => {
      return expiresAtMs > now && fault.applied < (fault.count ?? Infinity);
    });
    return this.placed.map(({ fault }) => fault);
  }

  /** Chooses the fault for a call and counts it as applied. */
  nextFaultFor(operation: Operation, machineIds: readonly string[]): Fault | undefined {
    if (this.placed.length === 0) return undefined;
    const fault = this.listFaults().find(
      (candidate) =>
        this.matchesCall(candidate, operation, machineIds) && this.random() < (candidate.rate ?? 1),
    );
    if (fault) fault.applied += 1;
    return fault;
  }

  removeFault(id: string): boolean {
    const before = this.listFaults().length;
    this.placed = this.placed.filter(({ fault }) => fault.id !== id);
    return this.placed.length < before;
  }

  clearFaults(): void {
    this.placed = [];
  }

  private matchesCall(fault: Fault, operation: Operation, called: readonly string[]): boolean {
    if (fault.operation !== '*' && fault.operation !== operation) return false;
    const { machineId, machineIds, factoryId } = fault;
    return (
      (machineId === undefined || called.includes(machineId)) &&
      (machineIds === undefined || called.some((id) => machineIds.includes(id))) &&
      (factoryId === undefined ||
        called.some((id) => this.plant.findMachine(id)?.factoryId === factoryId))
    );
  }
}
