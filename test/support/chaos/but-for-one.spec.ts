import { faultsButForOne } from './but-for-one.js';
import { callOf } from './logged-calls.js';

const calls = [1, 2, 3, 4].map((sequence) =>
  callOf({ kind: 'reason', machineId: 'A', number: sequence }, sequence),
);

/** Finds fault with each call of these sequence numbers. */
const blaming =
  (...sequences: number[]) =>
  (judged: readonly { sequence: number }[]): string[] =>
    judged
      .filter(({ sequence }) => sequences.includes(sequence))
      .map(({ sequence }) => `${sequence}`);

describe('the faults of a test that wakes a process', () => {
  it('are none when one call of its waking is to blame for all', () => {
    expect(faultsButForOne(calls, 2, blaming())).toEqual([]);
    expect(faultsButForOne(calls, 2, blaming(3))).toEqual([]);
    expect(faultsButForOne(calls, 2, blaming(4))).toEqual([]);
  });

  it('remain when two calls are to blame', () => {
    expect(faultsButForOne(calls, 2, blaming(3, 4))).toEqual(['3', '4']);
  });

  it('remain when a call from before it woke is to blame, or one from long after', () => {
    expect(faultsButForOne(calls, 2, blaming(2))).toEqual(['2']);
    const late = { ...calls[3]!, startedAtMs: calls[2]!.startedAtMs + 1001 };
    expect(faultsButForOne([...calls.slice(0, 3), late], 2, blaming(4))).toEqual(['4']);
  });
});
