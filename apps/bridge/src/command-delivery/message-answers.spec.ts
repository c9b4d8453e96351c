import { Logger } from '@nestjs/common';
import { type InboundMessage, PartitionOwnership } from '#libs/messaging';
import { type CommandResult, rejection } from './command-result.js';
import { MessageAnswers } from './message-answers.js';

const applied: CommandResult = { kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 100 };
const superseded: CommandResult = {
  kind: 'superseded',
  machineId: 'M-2',
  attempts: 0,
  detail: 'a newer one came',
};
const faulty = rejection({ code: 'missing-times', detail: 'no startTime' }, 'M-3');

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('MessageAnswers', () => {
  let ownership: PartitionOwnership;
  let ends: unknown[];
  let published: (readonly CommandResult[])[];
  /** Throws where something is wrong with ourselves. */
  let publishing: () => void;
  let acknowledge: () => void;
  let refuse: (error: Error) => void;

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    ownership = new PartitionOwnership();
    ends = [];
    published = [];
    publishing = () => undefined;
  });

  const answersTo = (open: number, known: readonly CommandResult[]): MessageAnswers => {
    const place = { topic: 'a-topic', partition: 0, offset: 0, timestamp: '0', bytes: 1 };
    const message: InboundMessage = {
      ...{ ...place, key: null, value: null, headers: [], ownership },
      finish: () => ends.push('finished'),
      doneInPart: () => ends.push('done in part'),
      abandon: () => ends.push('abandoned'),
      fail: (_, isAnswered) => ends.push(isAnswered === true ? 'set aside' : 'handled anew'),
    };
    const answered = { message, messageId: null };
    return new MessageAnswers(answered, open, known, (_, results, receipt) => {
      published.push([...results]);
      publishing();
      acknowledge = () => {
        receipt.acknowledged();
      };
      refuse = (error) => {
        receipt.refused(error);
      };
    });
  };

  it('answers once all commands of the message are settled', () => {
    const answers = answersTo(2, []);
    answers.settle(applied);
    expect({ published, ends }).toEqual({ published: [], ends: ['done in part'] });
    answers.settle(superseded);
    expect(published).toEqual([[applied, superseded]]);
    acknowledge();
    expect(ends).toEqual(['done in part', 'finished']);
  });

  it('tells with them what was known before', () => {
    answersTo(1, [faulty]).settle(applied);
    expect(published).toEqual([[faulty, applied]]);
  });

  it('answers at once what needs no command', () => {
    answersTo(0, [faulty]);
    expect(published).toEqual([[faulty]]);
    acknowledge();
    expect(ends).toEqual(['finished']);
  });

  it('ends a message that has nothing to say of any machine', () => {
    answersTo(0, []);
    acknowledge();
    expect(ends).toEqual(['finished']);
  });

  it('lets the offset move only when Kafka has acknowledged the answer', () => {
    answersTo(1, []).settle(applied);
    expect(ends).toEqual([]);
    acknowledge();
    expect(ends).toEqual(['finished']);
  });

  it('waits with the answer while nothing may be told', () => {
    void ownership.telling.close();
    answersTo(1, []).settle(applied);
    answersTo(0, [faulty]);
    expect(published).toEqual([]);
    ownership.telling.open();
    expect(published).toEqual([[applied], [faulty]]);
  });

  it('counts as told only when the message has ended, so that the next commit has it in it', async () => {
    answersTo(0, [faulty]);
    const quiet = ownership.telling.close().then(() => ends.push('quiet'));
    await nextTurn();
    expect(ends).toEqual([]);
    acknowledge();
    await quiet;
    expect(ends).toEqual(['finished', 'quiet']);
  });

  it('leaves an answer that had to wait to the new owner of the partition', () => {
    void ownership.telling.close();
    answersTo(1, []).settle(applied);
    ownership.lose(new Error('another process has it'));
    expect(published).toEqual([]);
    expect(ends).toEqual(['abandoned']);
  });

  it('has a message set aside that cannot be answered: its calls are not made again', async () => {
    answersTo(1, []).settle(applied);
    refuse(new Error('the record is too large'));
    expect(ends).toEqual(['set aside']);
    await ownership.telling.close();
  });

  it('has a message set aside of which nothing could even begin to be told', async () => {
    publishing = () => {
      throw new Error('a bug');
    };
    answersTo(1, []).settle(applied);
    expect(ends).toEqual(['set aside']);
    await ownership.telling.close();
  });

  it('leaves a message that cannot be answered to the new owner of its partition', () => {
    answersTo(1, []).settle(applied);
    ownership.lose(new Error('stopping'));
    refuse(new Error('the outbox is closed'));
    expect(ends).toEqual(['abandoned']);
  });
});
