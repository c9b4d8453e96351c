import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { createKafka, DeadLetters, type InboundMessage, Outbox } from '#libs/messaging';
import { CommandOutcomes } from './command-outcomes.js';
import { type CommandFamily } from './outcome-data.js';
import { type CommandResult, rejection } from './command-result.js';

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});
const message: InboundMessage = {
  topic: 'mes.downtime-reasons.v1',
  partition: 2,
  offset: 7,
  timestamp: '0',
  key: null,
  value: null,
  headers: {},
  signal: new AbortController().signal,
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

describe('CommandOutcomes', () => {
  let outcomes: CommandOutcomes;
  let sent: { type: string | undefined; value: unknown }[];

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    sent = [];
    const outbox = new Outbox(createKafka(settings.kafka));
    jest.spyOn(outbox, 'send').mockImplementation(({ headers, value }) => {
      const type = headers['ce_type']?.toString();
      sent.push({ type, value: value === null ? null : JSON.parse(value.toString()) });
      return Promise.resolve();
    });
    const clock = new ManualClock();
    outcomes = new CommandOutcomes(settings, clock, outbox, new DeadLetters(outbox, clock, ''));
  });

  it.each<[CommandFamily, CommandResult, string]>([
    ['work-order-list', applied, 'work-order-list.applied.v1'],
    ['work-order-list', superseded, 'work-order-list.superseded.v1'],
    ['downtime-reason', applied, 'downtime-reason.applied.v1'],
  ])('tells of a %s what became of it', async (family, result, type) => {
    await outcomes.publish(family, answered, [result]);
    expect(sent.map((record) => record.type)).toEqual([type]);
    expect(outcomes.recentOf('M-1')).toHaveLength(1);
  });

  it('tells of a deferral as of something that is not over: no code, no time, the calls so far', async () => {
    await outcomes.publishDeferred('downtime-reason', answered, 'M-1', 3);
    const detail = 'waits for the service to take it';
    const value = { machineId: 'M-1', source, code: null, detail, attempts: 3, appliedAt: null };
    expect(sent).toEqual([{ type: 'downtime-reason.deferred.v1', value }]);
  });

  it('sets a message aside that is at fault, beside its outcome', async () => {
    const fault = rejection({ code: 'invalid-json', detail: 'no JSON' });
    await outcomes.publish('downtime-reason', answered, [fault]);
    expect(sent).toEqual([
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
      { type: undefined, value: null },
    ]);
  });
});
