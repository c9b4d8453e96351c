import { Injectable } from '@nestjs/common';
import { Plant } from '../plant/plant.js';

/** A call of setMachineClassification that was accepted; times in epoch seconds. */
export interface ReceivedClassification {
  /** Order of receipt, from 1. */
  sequence: number;
  receivedAt: number;
  startTime: number;
  /** null: open-ended. */
  endTime: number | null;
  reasonId: string;
  /** End of the shift that was in progress at `receivedAt`. */
  shiftEndTime: number;
}

/** A stretch of a machine's time with the reason that applies to it; end exclusive. */
export interface ClassificationPeriod {
  startTime: number;
  endTime: number;
  reasonId: string;
  /** The call it comes from. */
  sequence: number;
  openEnded: boolean;
}

/**
 * What the calls received for one machine amount to (interface, "States and transitions" rule 2):
 *
 * - With an end time a classification applies to exactly [startTime, endTime).
 * - Without one it applies from startTime to the end of the current shift, which is the shift in
 *   progress when the call is received, or until a later call that carries an end time is received:
 *   then it ends at the moment of that receipt.
 * - Where two overlap, the one received later applies; what it leaves of the earlier one stays.
 */
export function classificationPeriods(
  received: readonly ReceivedClassification[],
): ClassificationPeriod[] {
  let periods: ClassificationPeriod[] = [];
  for (const [index, call] of received.entries()) {
    const later = received.find((it, at) => at > index && it.endTime !== null);
    const added: ClassificationPeriod = {
      startTime: call.startTime,
      endTime: call.endTime ?? Math.min(call.shiftEndTime, later?.receivedAt ?? Infinity),
      reasonId: call.reasonId,
      sequence: call.sequence,
      openEnded: call.endTime === null,
    };
    periods = [...periods.flatMap((period) => outside(period, added)), added].filter(isNotEmpty);
  }
  return periods.sort((a, b) => a.startTime - b.startTime);
}

/** The parts of a period that lie before and after another. */
function outside(
  period: ClassificationPeriod,
  { startTime, endTime }: ClassificationPeriod,
): ClassificationPeriod[] {
  if (startTime >= endTime) return [period];
  return [
    { ...period, endTime: Math.min(period.endTime, startTime) },
    { ...period, startTime: Math.max(period.startTime, endTime) },
  ].filter(isNotEmpty);
}

function isNotEmpty(period: ClassificationPeriod): boolean {
  return period.startTime < period.endTime;
}

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
