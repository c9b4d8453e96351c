import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import {
  type CommandOutcome,
  type MessageHeaders,
  openEnvelope,
  OUTCOME_TYPES,
} from '#libs/contracts';
import { DeadLetters, type OutboundRecord, RecordRefusedError } from '#libs/kafka';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { CommandOutcomes, type RecentOutcome, RecentOutcomes } from './command-outcomes.js';
import {
  type CommandResult,
  CommandWaiter,
  MessageResults,
  type OutcomeTarget,
  type RejectedResult,
  rejection,
} from './command.js';
import { inboundMessage, type KeptMessage } from './testing/inbound-message.js';

const settings = bridgeSettings();
const LISTS = 'erp.work-order-lists.v1';
const REASONS = 'mes.downtime-reasons.v1';
const source = { topic: REASONS, partition: 2, offset: 7, messageId: 'm-1' };
const applied: CommandResult = { kind: 'applied', machineId: 'M-1', attempts: 2, appliedAt: 100 };
const superseded: CommandResult = {
  kind: 'superseded',
  machineId: 'M-1',
  attempts: 0,
  detail: 'a newer one came',
};
const rejected = rejection({ code: 'unknown-machine', detail: 'no M-1' }, 'M-1');
const invalid = rejection({ code: 'invalid-json', detail: 'no JSON' });

const isList = (headers: OutboundRecord['headers']): headers is MessageHeaders =>
  Array.isArray(headers);

/** The type and value of an outcome; the topic, reason and machines of a dead letter. */
function read({ topic, headers, value }: OutboundRecord): Record<string, unknown> {
  const said = new Map(isList(headers) ? headers : Object.entries(headers));
  const of = (name: string): string | undefined => said.get(name)?.toString();
  if (topic.endsWith('.dlq')) {
    const [code, detail] = [of('dlq-code'), of('dlq-detail')];
    return { topic, code, detail, machineIds: of('dlq-machine-ids') };
  }
  return { type: of('ce_type'), value: JSON.parse(String(value)) as unknown };
}

describe('CommandOutcomes', () => {
  let outcomes: CommandOutcomes;
  let message: KeptMessage;
  let target: OutcomeTarget & { message: KeptMessage };

  beforeEach(() => {
    message = inboundMessage({ topic: REASONS, partition: 2, offset: 7 });
    target = { message, source };
    const clock = new ManualClock();
    const deadLetters = new DeadLetters(clock, '');
    outcomes = new CommandOutcomes(settings, clock, deadLetters);
  });

  const recordsOf = (
    results: readonly CommandResult[],
    more: Partial<OutcomeTarget> = {},
  ): Record<string, unknown>[] => outcomes.resultRecords({ ...target, ...more }, results).map(read);

  const counted = () => outcomes.counts.totals().filter(({ count }) => count > 0);

  it('counts each kind of outcome from 0, so that the first of a kind is a rise', () => {
    const rejected = { flow: 'work-orders', outcome: 'rejected', code: 'unknown-machine' };
    expect(outcomes.counts.totals()).toContainEqual({ ...rejected, count: 0 });
    const fault = rejection({ code: 'unknown-machine', detail: 'no M-3' }, 'M-3');
    recordsOf([fault], { message: inboundMessage({ topic: LISTS }) });
    expect(outcomes.counts.totals()).toContainEqual({ ...rejected, count: 1 });
  });

  it('has no count of superseded reasons', () => {
    const of = outcomes.counts.totals().map(({ flow, outcome }) => `${flow} ${outcome}`);
    expect(of).toContain('work-orders superseded');
    expect(of).toContain('downtime-reasons deferred');
    expect(of).not.toContain('downtime-reasons superseded');
  });

  it.each<[string, CommandResult, string]>([
    [LISTS, applied, 'work-order-list.applied.v1'],
    [LISTS, superseded, 'work-order-list.superseded.v1'],
    ['erp.work-orders.v1', applied, 'work-order-list.applied.v1'],
    ['machine-bridge.assignment-changes.v1', applied, 'work-order-list.applied.v1'],
    [REASONS, applied, 'downtime-reason.applied.v1'],
  ])('publishes the outcome of a message of %s', (topic, result, type) => {
    message = inboundMessage({ topic });
    expect(recordsOf([result], { message }).map((record) => record.type)).toEqual([type]);
    expect(outcomes.recentOutcomes.outcomesOfMachine('M-1')).toHaveLength(1);
    expect(counted()).toMatchObject([{ outcome: result.kind, code: '', count: 1 }]);
  });

  it('publishes a deferral with no code and no time, but the calls so far', () => {
    const results = new MessageResults(target, 1, outcomes.resultRecords);
    const waiter = new CommandWaiter('M-1', results, 0);
    waiter.callsMade = 3;
    outcomes.publishDeferred(target, waiter);
    const detail = 'waits for the service to take it';
    const value = { machineId: 'M-1', source, code: null, detail, attempts: 3, appliedAt: null };
    expect(message.published.map(({ records }) => records.map(read))).toEqual([
      [{ type: 'downtime-reason.deferred.v1', value }],
    ]);
    // The command is not finished by it: after a redelivery it is called again.
    expect(message.published.every(({ item }) => item === undefined)).toBe(true);
    expect(message.ends).toEqual([]);
  });

  it('logs the machine of a dead letter even if its headers do not name it', () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const [deadLetter] = recordsOf([rejected]);
    const [line] = warned.mock.calls.map(([logged]) => logged as object);
    expect(deadLetter).toMatchObject({ topic: `${REASONS}.dlq`, machineIds: undefined });
    expect(line).toMatchObject({ msg: 'dead letter', machineIds: ['M-1'] });
  });

  it('publishes a dead letter and a rejection for a message at fault', () => {
    const why = { code: 'invalid-json', detail: 'no JSON' };
    const value = { ...{ machineId: null, source, attempts: 0, appliedAt: null }, ...why };
    const deadLetter = { topic: `${REASONS}.dlq`, ...why, machineIds: undefined };
    const outcome = { type: 'downtime-reason.rejected.v1', value };
    expect(recordsOf([invalid])).toEqual([deadLetter, outcome]);
  });

  it.each([
    ['work-order-list.rejected.v1', 'erp.work-orders.v1'],
    ['work-order-list.rejected.v1', 'erp.work-order-lists.v1'],
    ['downtime-reason.rejected.v1', REASONS],
  ])('publishes %s, and a dead letter, of what cannot be handled of %s', (type, topic) => {
    const headers: MessageHeaders = [['ce_id', Buffer.from('m-1')]];
    message = inboundMessage({ topic, partition: 2, offset: 7, headers });
    outcomes.finishAfterBug(message, false);
    const why = {
      code: 'invalid-message',
      detail: 'the bridge could not handle this message; its log says why',
    };
    const value = { machineId: null, source: { ...source, topic }, attempts: 0, appliedAt: null };
    expect(message.last.map(read)).toEqual([
      { topic: `${topic}.dlq`, ...why, machineIds: undefined },
      { type, value: { ...value, ...why } },
    ]);
    expect(message.ends).toEqual(['finished']);
  });

  it('publishes only a dead letter for an answered message and for a queue record', () => {
    const between = inboundMessage({ topic: 'assignment-changes' });
    outcomes.finishAfterBug(message, true);
    outcomes.finishAfterBug(between, false);
    expect([...message.last, ...between.last].map(({ topic }) => topic)).toEqual([
      `${REASONS}.dlq`,
      'assignment-changes.dlq',
    ]);
  });

  it('names the machine at fault if the message names others', () => {
    const fault = rejection({ code: 'unknown-machine', detail: 'no M-3' }, 'M-3');
    const machineIdsOf = (more: Partial<OutcomeTarget>): unknown =>
      recordsOf([fault], more)[0]?.machineIds;
    expect(machineIdsOf({})).toBeUndefined();
    expect(machineIdsOf({ namesOthers: true })).toBe('M-3');
  });

  it.each([
    ['it has no value', { value: null }, 'invalid-json'],
    [
      'it could not be read',
      { unreadable: { rejection: { code: 'too-large', detail: '' }, omittedBytes: 1 } },
      'too-large',
    ],
  ] as const)('knows id and sender of a message although %s', (_, how, code) => {
    const place = { topic: REASONS, partition: 2, offset: 7, value: Buffer.from('{}') };
    const headers = Object.entries({ 'message-id': 'm-1', 'ingest-sender': 'mes' });
    const unopened = inboundMessage({ ...place, headers, ...how });
    const envelope = openEnvelope(unopened);
    expect(envelope).toMatchObject({ ok: false, rejection: { code } });
    expect(outcomes.targetOf(unopened, envelope).source).toEqual({ ...source, sender: 'mes' });
  });

  it('publishes neither outcome nor deferral for a message that has its outcome', () => {
    const reportedByAnother = { ...target, hasOutcome: true };
    expect(recordsOf([applied, invalid], reportedByAnother)).toEqual([]);
    const results = new MessageResults(reportedByAnother, 1, outcomes.resultRecords);
    outcomes.publishDeferred(reportedByAnother, new CommandWaiter('M-1', results, 0));
    expect(message.published).toEqual([]);
    expect(counted()).toEqual([]);
  });

  it('writes a refusal in place of a dead letter for a queue record', () => {
    const fault = rejection({ code: 'unknown-machine', detail: 'no M-3' }, 'M-3');
    const origin = { topic: 'erp.work-orders.v1', partition: 0, offset: 3, messageId: 'm-0' };
    const refusal = (faults: readonly RejectedResult[]): OutboundRecord => {
      return { topic: 'back', key: null, value: JSON.stringify(faults), headers: {} };
    };
    const records = recordsOf([applied, fault], {
      message: inboundMessage({ topic: 'relayed-orders' }),
      ...{ source: origin, refusal },
    });
    expect(records).toMatchObject([
      { type: undefined, value: [{ machineId: 'M-3' }] },
      { type: 'work-order-list.applied.v1', value: { machineId: 'M-1', source: origin } },
    ]);
    expect(records).toHaveLength(2);
    expect(counted()).toMatchObject([{ outcome: 'applied', count: 1 }]);
  });

  it('names the order, and gives the outcome of each order its own id', () => {
    const records = [
      ...outcomes.resultRecords({ ...target, orderId: '4711' }, [applied]),
      ...outcomes.resultRecords(target, [{ ...applied, orderId: '4712' }]),
    ];
    const found = records.map(({ value }) => JSON.parse(String(value)) as CommandOutcome);
    expect(found).toMatchObject([{ orderId: '4711' }, { orderId: '4712' }]);
    const ids = records.map(({ headers }) => (headers as Record<string, string>)['ce_id']);
    expect(new Set(ids).size).toBe(2);
    // Without a machine, consumers find it by the order.
    const ofNone = { ...applied, machineId: null, orderId: '4711' };
    expect(outcomes.resultRecords(target, [ofNone])).toMatchObject([{ key: '4711' }]);
  });

  it('leaves out a long list if the topic refuses the outcome', () => {
    const refusal = new RecordRefusedError('too-large', new Error('1 MB'));
    const workingOrders = Array.from({ length: 200 }, (_, order) => `order-${order}`);
    const [long] = outcomes.resultRecords(target, [{ ...applied, workingOrders }]);
    expect(read(long!).value).toMatchObject({ workingOrders: workingOrders.slice(0, 100) });
    const leaner = long!.leaner!(refusal);
    expect(read(leaner).value).toEqual({
      ...{ machineId: 'M-1', source, code: null, detail: null, attempts: 2, appliedAt: 100 },
    });
    expect({ ...long, value: '', leaner: undefined }).toEqual({ ...leaner, value: '' });
    const [short] = outcomes.resultRecords(target, [applied]);
    expect(short!.leaner).toBeUndefined();
  });

  describe('of a message that names several machines', () => {
    const other: CommandResult = { ...applied, machineId: 'M-2' };
    const fault = rejection({ code: 'unknown-machine', detail: 'no M-3' }, 'M-3');

    beforeEach(() => {
      message = inboundMessage({ topic: LISTS });
      target = { message, source };
    });

    it('publishes an outcome for each, and one dead letter', () => {
      const records = recordsOf([applied, fault, other]);
      expect(records.filter(({ topic }) => topic !== undefined)).toMatchObject([
        { machineIds: 'M-3' },
      ]);
      expect(records.flatMap(({ type }) => (type === undefined ? [] : [type]))).toEqual([
        'work-order-list.applied.v1',
        'work-order-list.rejected.v1',
        'work-order-list.applied.v1',
      ]);
    });

    it.each<[string, CommandResult[], string[]]>([
      ['a list applied, not a superseded one of the machine', [applied, superseded], ['applied']],
      ['a rejection, not a superseded list', [superseded, rejected], ['rejected']],
      ['a rejection, not a list applied', [rejected, applied], ['rejected']],
      ['one of two superseded lists', [superseded, superseded], ['superseded']],
      [
        'each order',
        ['4711', '4712'].map((orderId) => ({ ...applied, orderId })),
        ['applied', 'applied'],
      ],
      ['each machine, and none', [applied, other, invalid], ['applied', 'applied', 'rejected']],
      ['nothing where no machine is named', [], []],
    ])('publishes the outcome of %s', (_, results, kinds) => {
      for (const each of [results, results.toReversed()]) {
        const published = outcomes.resultRecords(target, each).map((record) => read(record).type);
        const types = published.filter((type) => type !== undefined).toSorted();
        expect(types).toEqual(kinds.map((kind) => `work-order-list.${kind}.v1`));
      }
    });

    it('names the unmapped work centre first: operators find the dead letter by it, to replay it', () => {
      const unmapped = rejection({ code: 'unmapped-work-centre', detail: 'no machine for 1/X' });
      const [deadLetter] = recordsOf([fault, unmapped]);
      expect(deadLetter).toMatchObject({ code: 'unmapped-work-centre' });
    });
  });
});

const APPLIED = OUTCOME_TYPES.workOrderListApplied;

function outcomeAt(offset: number, machineId = 'M-1'): CommandOutcome {
  const source = { topic: 'topic', partition: 0, offset, messageId: null };
  return { machineId, source, code: null, detail: null, attempts: 1, appliedAt: offset };
}

const readAt = (offset: number): RecentOutcome => ({ type: APPLIED, ...outcomeAt(offset) });

describe('RecentOutcomes', () => {
  it('keeps the last five outcomes of each machine, newest first', () => {
    const recent = new RecentOutcomes();
    expect(recent.outcomesOfMachine('M-1')).toEqual([]);
    recent.addOutcome('M-2', APPLIED, outcomeAt(99, 'M-2'));
    for (const offset of [1, 2, 3, 4, 5, 6, 7])
      recent.addOutcome('M-1', APPLIED, outcomeAt(offset));
    expect(recent.outcomesOfMachine('M-1').map(({ source }) => source.offset)).toEqual([
      7, 6, 5, 4, 3,
    ]);
    expect(recent.outcomesOfMachine('M-2').map(({ source }) => source.offset)).toEqual([99]);
  });

  it('overwrites all fields of the oldest, and no outcome that was read before', () => {
    const recent = new RecentOutcomes();
    for (const offset of [1, 2, 3, 4, 5]) recent.addOutcome('M-1', APPLIED, outcomeAt(offset));
    const before = recent.outcomesOfMachine('M-1');
    const other: RecentOutcome = {
      type: OUTCOME_TYPES.downtimeReasonRejected,
      machineId: 'M-1',
      source: { topic: 'other', partition: 3, offset: 6, messageId: 'm-6' },
      code: 'unknown-reason',
      detail: 'none',
      attempts: 2,
      appliedAt: null,
    };
    const { type, ...outcome } = other;
    recent.addOutcome('M-1', type, outcome);
    expect(recent.outcomesOfMachine('M-1')).toEqual([other, ...[5, 4, 3, 2].map(readAt)]);
    expect(before).toEqual([5, 4, 3, 2, 1].map(readAt));
  });

  it('keeps the order of an outcome', () => {
    const recent = new RecentOutcomes();
    for (const offset of [1, 2, 3, 4, 5]) recent.addOutcome('M-1', APPLIED, outcomeAt(offset));
    for (const orderId of ['4711', '4712']) {
      recent.addOutcome('M-1', APPLIED, { ...outcomeAt(6), orderId });
    }
    expect(
      recent
        .outcomesOfMachine('M-1')
        .map(({ orderId }) => orderId)
        .slice(0, 3),
    ).toEqual(['4712', '4711', undefined]);
  });

  it('forgets a machine after the outcomes of two times 20,000 others', () => {
    const recent = new RecentOutcomes();
    const hearOf = (from: number): void => {
      for (let number = from; number < from + 20_000; number += 1) {
        recent.addOutcome(`M-${number}`, APPLIED, outcomeAt(number));
      }
    };
    hearOf(0);
    hearOf(20_000);
    expect(recent.outcomesOfMachine('M-1')).toHaveLength(1);
    recent.addOutcome('M-0', APPLIED, outcomeAt(40_000));
    hearOf(40_000);
    expect(recent.outcomesOfMachine('M-0')).toHaveLength(2);
    expect(recent.outcomesOfMachine('M-1')).toEqual([]);
    expect(recent.outcomesOfMachine('M-40000')).toHaveLength(1);
  });
});
