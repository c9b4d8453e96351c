import { Injectable } from '@nestjs/common';
import { classificationPeriods, type ReceivedClassification } from '#libs/contracts';
import { Plant } from '../plant/plant.js';

/** An accepted call of setMachineClassification. */
export interface AcceptedClassification extends ReceivedClassification {
  /** Order of receipt, from 1. */
  sequence: number;
  reasonId: string;
}

/** A period with the reason that applies to it; epoch seconds, end exclusive. */
export interface ClassifiedPeriod {
  startTime: number;
  endTime: number;
  reasonId: string;
  /** Sequence of the call. */
  sequence: number;
  openEnded: boolean;
}

const CALLS_REMEMBERED_PER_MACHINE = 1000;

/** The accepted classifications by machine, in order of receipt. */
@Injectable()
export class Classifications {
  private readonly byMachine = new Map<string, AcceptedClassification[]>();
  private sequence = 0;

  constructor(private readonly plant: Plant) {}

  acceptClassification(
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

  receivedFor(machineId: string): readonly AcceptedClassification[] {
    return this.byMachine.get(machineId) ?? [];
  }

  /** The reasons that apply, in order of time. */
  periodsOf(machineId: string): ClassifiedPeriod[] {
    return classificationPeriods(this.receivedFor(machineId)).map(
      ({ startTime, endTime, call }) => ({
        startTime,
        endTime,
        reasonId: call.reasonId,
        sequence: call.sequence,
        openEnded: call.endTime === null,
      }),
    );
  }
}
