import type { OutboundRecord } from '#libs/kafka';
import { type CommandResult, MessageResults, rejection } from './command.js';
import { inboundMessage, type KeptMessage, targetOf } from './testing/inbound-message.js';

const applied: CommandResult = { kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 100 };
const superseded: CommandResult = {
  kind: 'superseded',
  machineId: 'M-2',
  attempts: 0,
  detail: 'a newer one came',
};
const faulty = rejection({ code: 'missing-times', detail: 'no startTime' }, 'M-3');
const faultyToo = rejection({ code: 'unknown-machine', detail: 'no M-4' }, 'M-4');

describe('MessageResults', () => {
  let message: KeptMessage;
  /** The results for which records were made, by call. */
  let asked: (readonly CommandResult[])[];
  let asking: () => void;

  beforeEach(() => {
    message = inboundMessage();
    asked = [];
    asking = () => undefined;
  });

  const recordOf = ({ kind, machineId }: CommandResult): OutboundRecord => {
    return { topic: 'outcomes', key: machineId, value: kind, headers: {} };
  };

  const resultsOf = (open: number): MessageResults =>
    new MessageResults(targetOf(message), open, (_, results) => {
      asked.push([...results]);
      asking();
      return results.map(recordOf);
    });

  it('publishes earlier applied and superseded results by item, and finishes with the last result', () => {
    const collected = resultsOf(3);
    collected.addResult(superseded, 2);
    collected.addResult(applied, 0);
    expect(message.published).toEqual([
      { records: [recordOf(superseded)], item: 2 },
      { records: [recordOf(applied)], item: 0 },
    ]);
    expect(message.ends).toEqual([]);
    const last = { ...applied, machineId: 'M-5' };
    collected.addResult(last, 1);
    expect(message.published).toHaveLength(2);
    expect(message.last).toEqual([recordOf(last)]);
    expect(message.ends).toEqual(['finished']);
  });

  it('keeps rejections until the end, so that they share a dead letter', () => {
    const collected = resultsOf(3);
    collected.addResult(faulty, 0);
    expect({ asked, published: message.published, ends: message.ends }).toEqual({
      ...{ asked: [], published: [], ends: [] },
    });
    collected.addResult(applied, 1);
    expect(message.published).toEqual([{ records: [recordOf(applied)], item: 1 }]);
    collected.addResult(faultyToo, 2);
    expect(asked).toEqual([[applied], [faulty, faultyToo]]);
    expect(message.last).toEqual([faulty, faultyToo].map(recordOf));
    expect(message.isItemDone(0)).toBe(false);
  });

  it('finishes a message without commands at once', () => {
    resultsOf(0);
    expect([message.last, message.ends]).toEqual([[], ['finished']]);
  });

  it.each([1, 2])(
    'dead-letters a message of %i commands once all are final if an outcome cannot be written',
    (open) => {
      asking = () => {
        throw new Error('a bug');
      };
      const collected = resultsOf(open);
      collected.addResult(applied, 0);
      asking = () => undefined;
      if (open > 1) collected.addResult(superseded, 1);
      expect(message.ends).toEqual(['dead-lettered']);
      expect(message.published.map(({ item }) => item)).toEqual(open > 1 ? [1] : []);
      expect(message.last).toEqual([]);
    },
  );
});
