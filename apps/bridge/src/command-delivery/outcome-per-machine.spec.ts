import { type CommandResult, rejection } from './command-result.js';
import { outcomePerMachine } from './outcome-per-machine.js';

const applied: CommandResult = { kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 100 };
const superseded: CommandResult = {
  kind: 'superseded',
  machineId: 'M-1',
  attempts: 0,
  detail: 'order 4712 changed at 99; known is the change of 100',
};
const rejected = rejection({ code: 'unknown-machine', detail: 'no M-1' }, 'M-1');

describe('outcomePerMachine', () => {
  it.each([
    ['a list applied', 'a superseded order', [applied, superseded], applied],
    ['a rejection', 'a superseded order', [superseded, rejected], rejected],
    ['a rejection', 'a list applied', [rejected, applied], rejected],
  ])('puts %s before %s of the same machine', (_, __, results, outcome) => {
    expect(outcomePerMachine(results)).toEqual([outcome]);
    expect(outcomePerMachine(results.toReversed())).toEqual([outcome]);
  });

  it('keeps the first of two superseded orders', () => {
    const second = { ...superseded, detail: 'another order' };
    expect(outcomePerMachine([superseded, second])).toEqual([superseded]);
  });

  it('leaves the outcomes of different machines, and of none, side by side', () => {
    const other = { ...superseded, machineId: 'M-2' };
    const nowhere = rejection({ code: 'unmapped-work-centre', detail: 'no machine for 1000/FR01' });
    const results = [applied, other, nowhere];
    expect(outcomePerMachine(results)).toEqual(results);
  });

  it('has nothing to say of a message that names no machine', () => {
    expect(outcomePerMachine([])).toEqual([]);
  });
});
