import { Injectable } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { seededRandom } from '../../plant/index.js';
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

const MOST_FAULTS = 1000;

/** The faults in force. A call meets at most one of them: the first placed that befalls it. */
@Injectable()
export class FaultBoard {
  private placed: PlacedFault[] = [];
  private lastId = 0;
  /** Seeded, so that a run with rates can be repeated. */
  private readonly random = seededRandom('faults');

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
        concerns(candidate, operation, machineIds) && this.random() < (candidate.rate ?? 1),
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
}

function concerns(fault: Fault, operation: Operation, machineIds: readonly string[]): boolean {
  return (
    (fault.operation === '*' || fault.operation === operation) &&
    (fault.machineId === undefined || machineIds.includes(fault.machineId))
  );
}
