import { callOf } from './logged-calls.js';
import { overlaps } from './overlaps.js';

const first = callOf({ kind: 'reason', machineId: 'A', number: 0 }, 1);
const second = callOf({ kind: 'reason', machineId: 'A', number: 1 }, 2);
const found = 'setMachineClassification of A: call 2 began before 1 had ended';

describe('calls under way at once', () => {
  it('are none when each begins once the one before has ended', () => {
    expect(overlaps([first, second])).toEqual([]);
    expect(overlaps([second, first])).toEqual([]);
  });

  it('are found however short they overlap', () => {
    const early = { ...second, startedAtMs: first.endedAtMs! - 0.01 };
    expect(overlaps([first, early])).toEqual([found]);
  });

  it('are found behind shorter ones that began later', () => {
    const long = { ...first, endedAtMs: 1000 };
    const third = callOf({ kind: 'reason', machineId: 'A', number: 2 }, 3);
    expect(overlaps([long, second, third])).toHaveLength(2);
  });

  it('are found with a call that never ended', () => {
    expect(overlaps([{ ...first, endedAtMs: null }, second])).toEqual([found]);
  });

  it('are found for each machine of a call that names several', () => {
    const lists = { ...first, operation: 'setWorkOrderList', machineIds: ['A', 'B'] };
    const early = { ...lists, sequence: 2, machineIds: ['B', 'C'] };
    expect(overlaps([lists, early])).toEqual([
      'setWorkOrderList of B: call 2 began before 1 had ended',
    ]);
  });

  it('do not count for different machines or operations', () => {
    const otherMachine = { ...first, sequence: 2, machineIds: ['B'] };
    const otherOperation = { ...first, sequence: 3, operation: 'setWorkOrderList' };
    expect(overlaps([first, otherMachine, otherOperation])).toEqual([]);
  });
});
