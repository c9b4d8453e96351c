import { Injectable } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { Plant, seededRandom } from '../../plant/index.js';
import type { Operation } from '../../service/index.js';
import type { FaultRequest } from './fault.request.js';

export interface Fault extends FaultRequest {
  id: string;
  /** Calls it has befallen so far. */
  applied: number;
}

interface PlacedFault {
  fault: Fault;
  expiresAtMs: number;
}

export const MOST_FAULTS = 1000;

/** The faults in force. A call meets at most one of them: the first placed that befalls it. */
@Injectable()
export class FaultBoard {
  private placed: PlacedFault[] = [];
  private lastId = 0;
  /** Seeded, so that a run with rates can be repeated. */
  private readonly random = seededRandom('faults');

  constructor(private readonly plant: Plant) {}

  get isFull(): boolean {
    return this.list().length >= MOST_FAULTS;
  }

  add(request: FaultRequest): Fault {
    this.lastId += 1;
    const fault = Object.assign(request, { id: `fault-${this.lastId}`, applied: 0 });
    const lifeMs = (request.durationSeconds ?? Infinity) * 1000;
    this.placed.push({ fault, expiresAtMs: realNowMs() + lifeMs });
    return fault;
  }

  replace(requests: readonly FaultRequest[]): Fault[] {
    this.clear();
    return requests.map((request) => this.add(request));
  }

  list(): Fault[] {
    const now = realNowMs();
    this.placed = this.placed.filter(({ fault, expiresAtMs }) => {
      return expiresAtMs > now && fault.applied < (fault.count ?? Infinity);
    });
    return this.placed.map(({ fault }) => fault);
  }

  /** The fault that befalls this call, counted as applied. */
  take(operation: Operation, machineIds: readonly string[]): Fault | undefined {
    if (this.placed.length === 0) return undefined;
    const fault = this.list().find(
      (candidate) =>
        this.concerns(candidate, operation, machineIds) && this.random() < (candidate.rate ?? 1),
    );
    if (fault) fault.applied += 1;
    return fault;
  }

  remove(id: string): boolean {
    const before = this.list().length;
    this.placed = this.placed.filter(({ fault }) => fault.id !== id);
    return this.placed.length < before;
  }

  clear(): void {
    this.placed = [];
  }

  private concerns(fault: Fault, operation: Operation, called: readonly string[]): boolean {
    if (fault.operation !== '*' && fault.operation !== operation) return false;
    const { machineId, machineIds, factoryId } = fault;
    return (
      (machineId === undefined || called.includes(machineId)) &&
      (machineIds === undefined || called.some((id) => machineIds.includes(id))) &&
      (factoryId === undefined || called.some((id) => this.plant.find(id)?.factoryId === factoryId))
    );
  }
}
