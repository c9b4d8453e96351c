import { type CommandResult, rejection } from '../command-delivery/index.js';
import {
  outcomePerMachine,
  rejectUnmapped,
  type UnmappedOperation,
} from './outcome-per-machine.js';

const applied: CommandResult = { kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 100 };
const superseded: CommandResult = {
  kind: 'superseded',
  machineId: 'M-1',
  attempts: 0,
  detail: 'order 4712 changed at 99; known is the change of 100',
};
const rejected = rejection({ code: 'unknown-machine', detail: 'no M-1' }, 'M-1');

function unmapped(orderId: string, workCentre: string): UnmappedOperation {
  const operation = { operationId: '0010', plant: '1000', workCentre, status: 'released' } as const;
  return { orderId, operation };
}

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
    const [nowhere] = rejectUnmapped([unmapped('4711', 'FR01')]);
    const results = [applied, other, nowhere!];
    expect(outcomePerMachine(results)).toEqual(results);
  });
});

describe('rejectUnmapped', () => {
  it('has nothing to say when every operation has a machine', () => {
    expect(rejectUnmapped([])).toEqual([]);
  });

  it('makes one rejection of all orders, each place named once', () => {
    const operations = [unmapped('4711', 'A'), unmapped('4711', 'A'), unmapped('4712', 'B')];
    expect(rejectUnmapped(operations)).toEqual([
      rejection({
        code: 'unmapped-work-centre',
        detail:
          'no machine is mapped for plant/work centre 1000/A of order 4711, 1000/B of order 4712',
      }),
    ]);
  });

  it('names five places and counts the rest', () => {
    const operations = ['A', 'B', 'C', 'D', 'E', 'F', 'G'].map((place) => unmapped('4711', place));
    const [result] = rejectUnmapped(operations);
    expect(result).toMatchObject({
      rejection: { detail: expect.stringMatching(/1000\/E of order 4711 and 2 more$/) as string },
    });
  });
});
