import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { type MessageHeaders } from '#libs/contracts';
import {
  createKafka,
  DeadLetters,
  type InboundMessage,
  type OutboundRecord,
  Outbox,
  PartitionOwnership,
} from '#libs/messaging';
import { OutcomePublisher } from './outcome-publisher.js';
import { CommandWaiter } from './command.js';
import { CommandOutcomes } from './command-outcomes.js';
import { type CommandFamily } from './outcome-data.js';
import { type CommandResult, rejection } from './command-result.js';
import { ToldOutcomes } from './told-outcomes.js';

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});
const ends: unknown[] = [];
const message: InboundMessage = {
  topic: 'mes.downtime-reasons.v1',
  partition: 2,
  offset: 7,
  timestamp: '0',
  key: null,
  value: null,
  headers: [],
  bytes: 0,
  ownership: new PartitionOwnership(),
  finish: () => ends.push('finished'),
  doneInPart: () => undefined,
  abandon: () => ends.push('abandoned'),
  fail: (error: unknown) => ends.push(error),
};
const answered = { message, messageId: 'm-1' };
const source = { topic: message.topic, partition: 2, offset: 7, messageId: 'm-1' };
const applied: CommandResult = { kind: 'applied', machineId: 'M-1', attempts: 2, appliedAt: 100 };
const superseded: CommandResult = {
  kind: 'superseded',
  machineId: 'M-1',
  attempts: 0,
  detail: 'a newer one came',
};

const isList = (headers: OutboundRecord['headers']): headers is MessageHeaders =>
  Array.isArray(headers);
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CommandOutcomes', () => {
  let publisher: OutcomePublisher;
  let outcomes: CommandOutcomes;
  let sent: { type: string | undefined; value: unknown }[];
  /** The machines at fault, as each dead letter names them. */
  let deadLetters: unknown[];
  let codes: unknown[];
  let sending: () => Promise<void>;
  let told: ToldOutcomes;

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    [sent, deadLetters, codes] = [[], [], []];
    ends.length = 0;
    sending = () => Promise.resolve();
    const outbox = new Outbox(createKafka(settings.kafka));
    jest.spyOn(outbox, 'post').mockImplementation(({ headers, value }, receipt) => {
      const said = new Map(isList(headers) ? headers : Object.entries(headers));
      const type = said.get('ce_type')?.toString();
      sent.push({ type, value: value === null ? null : JSON.parse(value.toString()) });
      if (type === undefined) {
        deadLetters.push(said.get('dlq-machine-ids')?.toString());
        codes.push(said.get('dlq-code')?.toString());
      }
      sending().then(
        () => {
          receipt.acknowledged();
        },
        (error: unknown) => {
          receipt.refused(error);
        },
      );
    });
    const clock = new ManualClock();
    const letters = new DeadLetters(outbox, clock, '');
    told = new ToldOutcomes(settings, createKafka(settings.kafka));
    publisher = new OutcomePublisher(settings, clock, outbox, letters, told);
    outcomes = new CommandOutcomes(publisher);
  });

  const publish = (family: CommandFamily, results: readonly CommandResult[]): Promise<void> =>
    new Promise((resolve, refused) => {
      const acknowledged = (): void => {
        resolve();
      };
      publisher.publish(family, answered, results, { acknowledged, refused });
    });

  it.each<[CommandFamily, CommandResult, string]>([
    ['work-order-list', applied, 'work-order-list.applied.v1'],
    ['work-order-list', superseded, 'work-order-list.superseded.v1'],
    ['downtime-reason', applied, 'downtime-reason.applied.v1'],
  ])('tells of a %s what became of it', async (family, result, type) => {
    await publish(family, [result]);
    expect(sent.map((record) => record.type)).toEqual([type]);
    expect(outcomes.recentOf('M-1')).toHaveLength(1);
    expect(outcomes.totals()).toMatchObject([{ outcome: result.kind, code: '', count: 1 }]);
  });

  it('tells of a deferral as of something that is not over: no code, no time, the calls so far', () => {
    const answers = outcomes.answersTo('downtime-reason', answered, 1, []);
    const waiter = new CommandWaiter('M-1', answers, 0);
    waiter.calls = 3;
    outcomes.publishDeferred('downtime-reason', waiter);
    const detail = 'waits for the service to take it';
    const value = { machineId: 'M-1', source, code: null, detail, attempts: 3, appliedAt: null };
    expect(sent).toEqual([{ type: 'downtime-reason.deferred.v1', value }]);
    expect(ends).toEqual([]);
  });

  it('goes on without a deferral that does not get out, which nobody else has to catch', async () => {
    sending = () => Promise.reject(new Error('the outbox is closed'));
    const answers = outcomes.answersTo('downtime-reason', answered, 1, []);
    outcomes.publishDeferred('downtime-reason', new CommandWaiter('M-1', answers, 0));
    // an unhandled rejection is reported, and fails this test, after the turn it comes about in
    await nextTurn();
    expect(ends).toEqual([]);
  });

  it('sets a message aside that is at fault, and tells so once it is', async () => {
    const fault = rejection({ code: 'invalid-json', detail: 'no JSON' });
    await publish('downtime-reason', [fault]);
    expect(sent).toEqual([
      { type: undefined, value: null },
      {
        type: 'downtime-reason.rejected.v1',
        value: {
          machineId: null,
          source,
          code: 'invalid-json',
          detail: 'no JSON',
          attempts: 0,
          appliedAt: null,
        },
      },
    ]);
  });

  it('tells nothing of a rejected message that could not be set aside', async () => {
    sending = () => Promise.reject(new Error('the outbox is closed'));
    const fault = rejection({ code: 'invalid-json', detail: 'no JSON' });
    await expect(publish('downtime-reason', [fault])).rejects.toThrow('closed');
    expect(sent).toEqual([{ type: undefined, value: null }]);
  });

  it.each<[string, CommandResult[]]>([
    ['one machine', [superseded]],
    ['a machine at fault', [rejection({ code: 'unknown-machine', detail: 'none' }, 'M-1')]],
  ])('says nothing of %s that an earlier owner has told of', async (_, results) => {
    jest.spyOn(told, 'take').mockReturnValue(true);
    await publish('work-order-list', results);
    expect([...sent, ...deadLetters]).toEqual([]);
  });

  it('tells that a message is rejected which an earlier owner has set aside, and does not do so again', async () => {
    jest.spyOn(told, 'withoutLetter').mockReturnValue([]);
    await publish('work-order-list', [rejection({ code: 'unknown-machine', detail: '' }, 'M-1')]);
    expect(sent.map(({ type }) => type)).toEqual(['work-order-list.rejected.v1']);
    expect(deadLetters).toEqual([]);
  });

  describe('of a message that names several machines', () => {
    const other: CommandResult = { ...applied, machineId: 'M-2' };
    const fault = rejection({ code: 'unknown-machine', detail: 'no M-3' }, 'M-3');

    it('tells of each, and sets the message aside once, with those at fault', async () => {
      await publish('work-order-list', [applied, fault, other]);
      expect(sent.map(({ type }) => type)).toEqual([
        'work-order-list.applied.v1',
        'work-order-list.applied.v1',
        undefined,
        'work-order-list.rejected.v1',
      ]);
      expect(deadLetters).toEqual(['M-3']);
    });

    it('names the fault that a map can mend: the letter is found by it, to be replayed', async () => {
      const unmapped = rejection({ code: 'unmapped-work-centre', detail: 'no machine for 1/X' });
      await publish('work-order-list', [fault, unmapped]);
      expect(codes).toEqual(['unmapped-work-centre']);
    });

    it('sets nothing aside when none is at fault', async () => {
      await publish('work-order-list', [applied, other]);
      expect(sent).toHaveLength(2);
      expect(deadLetters).toEqual([]);
    });

    it('answers once all are settled, each machine with one outcome, and ends the message then', async () => {
      let acknowledge: () => void = () => undefined;
      const acknowledged = new Promise<void>((resolve) => {
        acknowledge = resolve;
      });
      sending = () => acknowledged;
      const answers = outcomes.answersTo('work-order-list', answered, 2, [superseded]);
      answers.settle(applied);
      expect(sent).toEqual([]);
      answers.settle(other);
      await nextTurn();
      expect(sent.map(({ value }) => value)).toMatchObject([
        { machineId: 'M-1', appliedAt: 100 },
        { machineId: 'M-2', appliedAt: 100 },
      ]);
      expect(ends).toEqual([]);
      acknowledge();
      await nextTurn();
      expect(ends).toEqual(['finished']);
    });
  });
});
