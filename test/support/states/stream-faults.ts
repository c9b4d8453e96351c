import { type MachineStateRecord, STATE_EVENT_TYPES } from '#libs/contracts';
import { inBrief } from '../chaos/in-brief.js';
import { header, json, type ReadRecord } from '../topic-reader.js';
import {
  brokenLinks,
  type PublishedPeriod,
  standingPeriods,
  StandingPeriods,
} from './fold-states.js';
import type { StateStream } from './state-stream.js';

/** Faults in the published stream of these machines, which a subscriber must not see under any circumstances, as text. */
export function streamFaults(stream: StateStream, machineIds: readonly string[]): string[] {
  const faults = machineIds.flatMap((machineId) => {
    const records = stream.events.get(machineId) ?? [];
    return [
      ...numberingFaults(machineId, records),
      ...brokenLinks(records),
      ...latestStateFaults(machineId, records, stream.states.get(machineId)?.at(-1)),
      ...observationFaults(machineId, records),
    ];
  });
  return inBrief(faults);
}

/** Faults in the sequence numbers, ids and partition of one machine's events, as text. */
export function numberingFaults(machineId: string, records: readonly ReadRecord[]): string[] {
  const faults: string[] = [];
  const ids = new Map<string, number>();
  for (const [index, record] of records.entries()) {
    const sequence = header(record, 'ce_sequence');
    if (sequence !== String(index + 1)) {
      faults.push(`${machineId}: event ${index + 1} has the number ${String(sequence)}`);
    }
    const id = header(record, 'ce_id') ?? '';
    const before = ids.get(id);
    if (before !== undefined)
      faults.push(`${machineId}: ${before} and ${index + 1} are both ${id}`);
    ids.set(id, index + 1);
  }
  const places = new Set(records.map(({ partition }) => partition));
  if (places.size > 1) faults.push(`${machineId}: events in ${places.size} partitions`);
  return faults;
}

/** Losses of a machine that is already lost for the same reason, and returns of one that is not lost, as text. */
export function observationFaults(machineId: string, records: readonly ReadRecord[]): string[] {
  const faults: string[] = [];
  let lost = null as { reason: unknown; since: unknown } | null;
  for (const record of records) {
    const { reason, since, lostSince } = json(record);
    const place = `${machineId}, event ${String(header(record, 'ce_sequence'))}`;
    switch (header(record, 'ce_type')) {
      case STATE_EVENT_TYPES.observationLost:
        if (lost?.reason === reason) faults.push(`${place}: ${String(reason)} once more`);
        // another reason for the same loss
        if (lost !== null && lost.since !== since) faults.push(`${place}: lost since another time`);
        lost = { reason, since };
        break;
      case STATE_EVENT_TYPES.observationRestored:
        if (lost === null) faults.push(`${place}: restored, but was not lost`);
        else if (lost.since !== lostSince) faults.push(`${place}: restored from another loss`);
        lost = null;
        break;
    }
  }
  return faults;
}

/** Differences between a machine's latest state record and its latest events, as text. */
export function latestStateFaults(
  machineId: string,
  records: readonly ReadRecord[],
  latest: MachineStateRecord | null | undefined,
): string[] {
  const current = standingPeriods(records).at(-1);
  const expected = {
    state: current?.state ?? null,
    startTime: current?.startTime ?? null,
    sequence: records.length,
  };
  const { state, startTime, sequence } = latest ?? {};
  const found = { state, startTime, sequence };
  const [wanted, had] = [JSON.stringify(expected), JSON.stringify(found)];
  return wanted === had ? [] : [`${machineId}: the latest state is ${had}, not ${wanted}`];
}

/**
 * Changes of rows that began before `settledUntil` (docs/machine-states.md, Corrections), as text. Rows of vanished
 * periods, which book nothing, may come.
 *
 * @param states the machine's records of the compacted topic, in order
 */
export function settledFaults(
  machineId: string,
  records: readonly ReadRecord[],
  states: readonly (MachineStateRecord | null)[],
): string[] {
  const faults: string[] = [];
  // the last of several records after one event
  const settledAt = new Map<number, number>();
  let until = -Infinity;
  for (const state of states) {
    if (state?.settledUntil == null) continue;
    if (state.settledUntil < until) {
      faults.push(
        `${machineId}, event ${state.sequence}: settled until ${state.settledUntil}, before until ${until}`,
      );
    }
    until = state.settledUntil;
    settledAt.set(state.sequence, until);
  }
  const standing = new StandingPeriods();
  const rows = (until: number): string[] =>
    standing.list.filter(({ startTime }) => startTime < until).map(rowOf);
  let [settledUntil, settled] = [-Infinity, [] as string[]];
  for (const [index, record] of records.entries()) {
    standing.applyEvent(record);
    const before = JSON.stringify(settled);
    const now = JSON.stringify(rows(settledUntil));
    if (before !== now) {
      faults.push(
        `${machineId}, event ${index + 1}: settled until ${settledUntil}: ${before}, then ${now}`,
      );
    }
    settledUntil = settledAt.get(index + 1) ?? settledUntil;
    settled = rows(settledUntil);
  }
  return faults;
}

function rowOf(period: PublishedPeriod): string {
  const { state, startTime, previousState, previousStartTime, previousEndTime } = period;
  return JSON.stringify([state, startTime, previousState, previousStartTime, previousEndTime]);
}
