import { type CommandOutcome } from '#libs/contracts';
import { OutcomeHistory } from './outcome-history.js';

function outcomeAt(offset: number, machineId = 'M-1'): CommandOutcome {
  const source = { topic: 'topic', partition: 0, offset, messageId: null };
  return { machineId, source, code: null, detail: null, attempts: 1, appliedAt: offset };
}

describe('OutcomeHistory', () => {
  it('knows nothing of a machine it has not heard of', () => {
    expect(new OutcomeHistory().of('M-1')).toEqual([]);
  });

  it('keeps the last five outcomes of each machine, newest first', () => {
    const history = new OutcomeHistory();
    history.add('M-2', outcomeAt(99, 'M-2'));
    for (const offset of [1, 2, 3, 4, 5, 6, 7]) history.add('M-1', outcomeAt(offset));
    expect(history.of('M-1').map(({ source }) => source.offset)).toEqual([7, 6, 5, 4, 3]);
    expect(history.of('M-2').map(({ source }) => source.offset)).toEqual([99]);
  });

  it('forgets machines when 20,000 others have been heard of twice over since', () => {
    const history = new OutcomeHistory();
    const hearOf = (from: number): void => {
      for (let number = from; number < from + 20_000; number += 1) {
        history.add(`M-${number}`, outcomeAt(number));
      }
    };
    hearOf(0);
    hearOf(20_000);
    expect(history.of('M-1')).toHaveLength(1);
    history.add('M-0', outcomeAt(40_000));
    hearOf(40_000);
    expect(history.of('M-0')).toHaveLength(2);
    expect(history.of('M-1')).toEqual([]);
    expect(history.of('M-40000')).toHaveLength(1);
  });
});
