/** A call of setMachineClassification that the service has accepted; times in epoch seconds. */
export interface ReceivedClassification {
  receivedAt: number;
  startTime: number;
  /** null: open-ended. */
  endTime: number | null;
  /** End of the shift that was in progress at `receivedAt`. */
  shiftEndTime: number;
}

/** A stretch of a machine's time with the call that applies to it; end exclusive. */
export interface ClassificationPeriod<T extends ReceivedClassification> {
  startTime: number;
  endTime: number;
  call: T;
  /** The later call that an open-ended one was ended by, if it was. */
  endedBy: T | null;
}

/**
 * What the calls received for one machine amount to, in time order (interface, "States and transitions" rule 2):
 *
 * - With an end time a classification applies to exactly [startTime, endTime).
 * - Without one it applies from startTime to the end of the current shift, which is the shift in
 *   progress when the call is received, or until a later call that carries an end time is received:
 *   then it ends at the moment of that receipt.
 * - Where two overlap, the one received later applies; what it leaves of the earlier one stays.
 *
 * @param received in the order of receipt
 */
export function classificationPeriods<T extends ReceivedClassification>(
  received: readonly T[],
): ClassificationPeriod<T>[] {
  let periods: ClassificationPeriod<T>[] = [];
  const withEnds = laterCallsWithEnds(received);
  for (const [index, call] of received.entries()) {
    const { startTime, shiftEndTime } = call;
    const later = withEnds[index] ?? null;
    const endedBy =
      call.endTime === null && later !== null && later.receivedAt < shiftEndTime ? later : null;
    const endTime = call.endTime ?? endedBy?.receivedAt ?? shiftEndTime;
    const added = { startTime, endTime, call, endedBy };
    periods = [...periods.flatMap((period) => outside(period, added)), added].filter(isNotEmpty);
  }
  return periods.sort((a, b) => a.startTime - b.startTime);
}

/** For each call the first after it that carries an end time. */
function laterCallsWithEnds<T extends ReceivedClassification>(
  received: readonly T[],
): (T | null)[] {
  let later: T | null = null;
  return received
    .toReversed()
    .map((call) => {
      const next = later;
      if (call.endTime !== null) later = call;
      return next;
    })
    .toReversed();
}

/** The parts of a period that lie before and after another. */
function outside<T extends { startTime: number; endTime: number }>(
  period: T,
  { startTime, endTime }: { startTime: number; endTime: number },
): T[] {
  if (startTime >= endTime || period.endTime <= startTime || period.startTime >= endTime) {
    return [period];
  }
  return [
    { ...period, endTime: Math.min(period.endTime, startTime) },
    { ...period, startTime: Math.max(period.startTime, endTime) },
  ].filter(isNotEmpty);
}

function isNotEmpty({ startTime, endTime }: { startTime: number; endTime: number }): boolean {
  return startTime < endTime;
}
