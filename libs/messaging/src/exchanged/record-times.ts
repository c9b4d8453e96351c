import { type MessageFields } from './record-layout.js';

/** Epoch milliseconds of a batch, and of each record the difference from the first of them. */
export interface BatchTimes {
  first: number | string;
  max: number | string;
  deltas: readonly number[];
}

/** As kafkajs has it: the first and the last of the times given, of which those of the other records may lie outside. */
export function timesOf(messages: readonly MessageFields[], nowMs: number): BatchTimes {
  const given = messages.flatMap(({ timestamp }) => timestamp ?? []);
  if (given.length === 0) {
    return { first: nowMs, max: nowMs, deltas: new Array<number>(messages.length).fill(0) };
  }
  given.sort();
  const first = given[0] ?? nowMs;
  const deltas = messages.map(({ timestamp }) => Number(timestamp ?? nowMs) - Number(first));
  return { first, max: given.at(-1) ?? nowMs, deltas };
}
