import { Injectable } from '@nestjs/common';
import {
  classificationPeriods,
  type ClassificationPeriod,
  Plant,
  type ReceivedClassification,
} from '../plant/index.js';

const CALLS_REMEMBERED_PER_MACHINE = 1000;

/** The classifications received, per machine in the order of their receipt. */
@Injectable()
export class Classifications {
  private readonly byMachine = new Map<string, ReceivedClassification[]>();
  private sequence = 0;

  constructor(private readonly plant: Plant) {}

  receive(
    machineId: string,
    call: { startTime: number; endTime: number | null; reasonId: string },
    receivedAt: number,
  ): void {
    this.sequence += 1;
    const { endTime: shiftEndTime } = this.plant.calendar.shiftAt(receivedAt);
    const received = this.byMachine.get(machineId) ?? [];
    received.push({ sequence: this.sequence, receivedAt, ...call, shiftEndTime });
    if (received.length > CALLS_REMEMBERED_PER_MACHINE) received.shift();
    this.byMachine.set(machineId, received);
  }

  receivedFor(machineId: string): readonly ReceivedClassification[] {
    return this.byMachine.get(machineId) ?? [];
  }

  /** The reasons as they apply, in order of time. */
  periodsOf(machineId: string): ClassificationPeriod[] {
    return classificationPeriods(this.receivedFor(machineId));
  }
}
