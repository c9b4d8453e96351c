import { jest } from '@jest/globals';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { INTERNAL_TOPICS } from '#libs/contracts';
import type { InboundRecord, InputState, KafkaClient, TransactedState } from '#libs/kafka';
import { ManualClock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { respond, StubService } from '../../../../../libs/http-calls/test/stub-service.js';
import {
  CommandOutcomes,
  type CommandResult,
  MessageResults,
  type Precedence,
} from '../../delivery/index.js';
import {
  inboundMessage,
  type KeptMessage,
  targetOf,
} from '../../delivery/testing/inbound-message.js';
import { FlowControls } from '../../flow-control/index.js';
import { MachineDirectory } from '../../machine-directory/index.js';
import { whenListed } from '../../machine-directory/testing/when-listed.js';
import { PlatformModule } from '../../platform/index.js';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { ownedState } from '../testing/owned-state.js';
import { WorkOrdersModule } from '../work-orders.module.js';
import { ListWatermarks } from './list-watermarks.js';
import {
  type ListToSet,
  precedenceOf,
  listBytes,
  WorkOrderLists,
  WorkOrderListsController,
} from './work-order-lists.js';

const LINGER_MS = 5;
const stopping = new Error('the bridge is stopping');

function machine(machineUniqueId: string): object {
  const name = { machineDisplayName: machineUniqueId, factoryId: 'F-1', factoryName: 'Plant' };
  return { ...name, machineUniqueId };
}

/** A message, its outcomes, and a promise of its end. */
interface Sent {
  readonly ownership: AbortController;
  readonly message: KeptMessage;
  readonly results: CommandResult[];
  readonly end: Promise<string>;
  hasEnded: boolean;
}

describe('WorkOrderLists', () => {
  let service: StubService;
  let bridge: INestApplicationContext;
  let lists: WorkOrderLists;
  let requests: { machineId: string; workingOrders: string[] }[][];
  let answer: () => Promise<void>;
  let watermarks: Map<string, number>;
  let answers: Map<InboundRecord, CommandResult[]>;

  beforeEach(async () => {
    requests = [];
    [watermarks, answers] = [new Map<string, number>(), new Map<InboundRecord, CommandResult[]>()];
    answer = () => Promise.resolve();
    service = await StubService.start();
    service.answers((request, response) => {
      const machines = respond(200, ['M-1', 'M-2', 'M-3'].map(machine));
      if (request.method !== 'PUT') {
        machines(request, response);
        return;
      }
      requests.push((JSON.parse(request.body) as { machines: never[] }).machines);
      void answer().then(() => machines(request, response));
    });
    const settings = bridgeSettings({
      MACHINE_CLOUD_BASE_URL: service.baseUrl,
      WORK_ORDER_LIST_LINGER_MS: String(LINGER_MS),
      WORK_ORDER_LIST_MAX_MACHINES: '2',
    });
    @Module({ imports: [PlatformModule.with(settings), WorkOrdersModule] })
    class WorkOrdersAlone {}
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    bridge.get(FlowControls).markAsRead();
    lists = bridge.get(WorkOrderLists);
    const outcomes = bridge.get(CommandOutcomes);
    const { resultRecords } = outcomes;
    jest.spyOn(outcomes, 'resultRecords').mockImplementation((answered, results) => {
      answers.get(answered.message)?.push(...results);
      return resultRecords(answered, results);
    });
    bridge
      .get(ListWatermarks)
      .topic.own(ownedState(watermarks, { name: INTERNAL_TOPICS.workOrderListFences }));
    await whenListed(bridge.get(MachineDirectory));
  });

  afterEach(async () => {
    await bridge.close();
    await service.stop();
  });

  /** @param done places of items that an earlier owner has finished */
  const send = (body: object, done: readonly number[] = []): Sent => {
    let ended: (how: string) => void = () => undefined;
    const end = new Promise<string>((resolve) => {
      ended = (how) => {
        sent.hasEnded = true;
        resolve(how);
      };
    });
    const ownership = new AbortController();
    const message = inboundMessage({
      ...{ topic: 'erp.work-order-lists.v1', offset: 7, revoked: ownership.signal },
      value: Buffer.from(JSON.stringify(body)),
      isItemDone: (item) => done.includes(item),
      finish: (records = []) => {
        const published = message.published.flatMap((each) => each.records);
        for (const { topic, key, value } of [...published, ...records]) {
          if (topic === INTERNAL_TOPICS.workOrderListFences)
            watermarks.set(String(key), Number(value));
        }
        ended('finished');
      },
      abandon: () => ended('abandoned'),
      fail: (error: unknown) => ended(String(error)),
    });
    const sent: Sent = { ownership, message, results: [], end, hasEnded: false };
    answers.set(message, sent.results);
    bridge.get(WorkOrderListsController).handleLists([message]);
    return sent;
  };

  const finished = async (...message: Parameters<typeof send>): Promise<CommandResult[]> => {
    const { end, results } = send(...message);
    expect(await end).toBe('finished');
    return results;
  };

  /** Blocks callers that wait for `arrived` until `open` is called. */
  const gate = () => {
    let [open, arrive]: (() => void)[] = [];
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const pass = (): Promise<void> => {
      arrive?.();
      return opened;
    };
    return { pass, arrived, open: () => open?.() };
  };

  it('sets the lists of a message as they are given, and finishes it with all outcomes', async () => {
    const first = { machineId: 'M-1', workingOrders: ['4712', '4711'] };
    const second = { machineId: 'M-2', workingOrders: [] };
    const results = await finished({ machines: [first, second] });
    expect(requests).toEqual([[first, second]]);
    expect(results).toMatchObject([
      { kind: 'applied', machineId: 'M-1', attempts: 1 },
      { kind: 'applied', machineId: 'M-2', attempts: 1 },
    ]);
    expect(lists.lastApplied('M-1')).toMatchObject({ workingOrders: ['4712', '4711'] });
    expect(lists.lastApplied('M-3')).toBeUndefined();
  });

  it('share a call up to its maximum number of machines', async () => {
    const machines = ['M-1', 'M-2', 'M-3'].map((machineId) => ({ machineId, workingOrders: [] }));
    await finished({ machines });
    // Both calls are under way at once, so either may arrive first.
    expect(requests).toHaveLength(2);
    expect(requests).toEqual(expect.arrayContaining([machines.slice(0, 2), machines.slice(2)]));
  });

  describe('delivered again', () => {
    const [first, second] = ['M-1', 'M-2'].map((machineId) => ({
      ...{ machineId, workingOrders: ['4711'] },
    }));

    it('makes no call and publishes nothing for items that an earlier owner has finished', async () => {
      expect(await finished({ machines: [first, second] }, [0, 1])).toEqual([]);
      expect(requests).toEqual([]);
      const results = await finished({ machines: [first, second] }, [0]);
      expect(requests).toEqual([[second]]);
      expect(results).toMatchObject([{ kind: 'applied', machineId: 'M-2' }]);
      expect(results).toHaveLength(1);
      expect(lists.lastApplied('M-1')).toBeUndefined();
    });

    it('finds finished items by their places in the message, beside faulty ones', async () => {
      const faulty = { machineId: 'M-3', workingOrders: 'all' };
      const results = await finished({ machines: [faulty, first, second] }, [0]);
      expect(requests).toEqual([[second]]);
      expect(results).toMatchObject([
        { kind: 'rejected', machineId: 'M-3', attempts: 0 },
        { kind: 'applied', machineId: 'M-2' },
      ]);
    });

    it('publishes items with their places', async () => {
      const { end, message } = send({ machines: [first, second] });
      expect(await end).toBe('finished');
      // The last one is published with the end.
      expect(message.published).toMatchObject([{ records: [{ key: 'M-1' }], item: 0 }]);
    });
  });

  it('rejects a message that it cannot read', async () => {
    const results = await finished({ workingOrders: ['4711'] });
    expect(results).toMatchObject([{ kind: 'rejected', rejection: { code: 'invalid-message' } }]);
    expect(requests).toEqual([]);
  });

  describe('of the ledger', () => {
    let revoked: AbortSignal;
    let orders: string[];

    beforeEach(() => {
      [revoked, orders] = [new AbortController().signal, ['4711']];
    });

    /** Sets the list of M-1 as the ledger has it when it is sent; resolves with the message's outcome. */
    const draw = async (): Promise<CommandResult[]> => {
      const results: CommandResult[] = [];
      await new Promise<void>((resolve) => {
        const end = (): void => resolve();
        const place = { topic: 'changes', offset: 7, revoked };
        const message = inboundMessage({ ...place, finish: end, abandon: end, fail: end });
        answers.set(message, results);
        const outcomes = bridge.get(CommandOutcomes);
        const waiting = new MessageResults(targetOf(message), 1, outcomes.resultRecords);
        const list = { machineId: 'M-1', workingOrders: () => orders };
        lists.flow.submitCommand('M-1', list, waiting);
      });
      return results;
    };

    it('is sent again unchanged: another system may have set another meanwhile', async () => {
      await draw();
      expect(await draw()).toMatchObject([{ kind: 'applied', attempts: 1 }]);
      expect(requests).toHaveLength(2);
    });

    it('is remembered as it was sent, not as it was at the time of the answer', async () => {
      const { pass, arrived, open } = gate();
      answer = pass;
      const first = draw();
      await arrived;
      orders = ['4712'];
      open();
      await first;
      expect(lists.lastApplied('M-1')?.workingOrders).toEqual(['4711']);
      await draw();
      expect(requests.at(-1)).toEqual([{ machineId: 'M-1', workingOrders: ['4712'] }]);
    });
  });

  it.each([0, 10])(
    'supersedes a list issued before the last applied one, without a call: %i',
    async (issuedAt) => {
      bridge.get(ListWatermarks).raise(0, 'M-1', 20);
      const results = await finished({ machineId: 'M-1', workingOrders: [], issuedAt });
      const detail = `issued at ${issuedAt}; the list applied last was issued at 20`;
      expect(results).toEqual([{ kind: 'superseded', machineId: 'M-1', attempts: 0, detail }]);
      expect(requests).toEqual([]);
    },
  );

  it.each([20, 21])('sends a list issued at the same time or later: %i', async (issuedAt) => {
    bridge.get(ListWatermarks).raise(0, 'M-1', 20);
    await finished({ machineId: 'M-1', workingOrders: [], issuedAt });
    expect(requests).toHaveLength(1);
    expect(watermarks.get('M-1')).toBe(issuedAt);
  });

  it('writes the time of issue of each applied list that has one, with the outcome of its machine', async () => {
    const machines = ['M-1', 'M-2'].map((machineId) => ({ machineId, workingOrders: [] }));
    await finished({ machines });
    expect(watermarks).toEqual(new Map());
    await finished({ machines, issuedAt: 20 });
    await finished({ machines, issuedAt: 10 });
    expect(watermarks).toEqual(new Map(machines.map(({ machineId }) => [machineId, 20])));
  });

  it('is not treated as outdated because the next list is', async () => {
    await send({ machineId: 'M-1', workingOrders: ['base'], issuedAt: 20 }).end;
    const valid = send({ machineId: 'M-1', workingOrders: ['valid'] });
    const outdated = send({ machineId: 'M-1', workingOrders: ['outdated'], issuedAt: 18 });
    expect(await valid.end).toBe('finished');
    expect(await outdated.end).toBe('finished');
    expect(valid.results).toMatchObject([{ kind: 'applied' }]);
    expect(outdated.results).toMatchObject([{ kind: 'superseded' }]);
  });

  it.each([
    ['one', []],
    ['either of two', ['first']],
  ])('is not followed by a list older than %s that it took the place of', async (_, untimed) => {
    const { pass, arrived, open } = gate();
    answer = pass;
    const set = (order: string, issuedAt?: number): Sent =>
      send({ machineId: 'M-1', workingOrders: [order], issuedAt });
    const busy = set('busy');
    await arrived;
    const replaced = [...untimed.map((order) => set(order)), set('timed', 10)];
    const newest = set('newest');
    const outdated = set('outdated', 5);
    open();
    for (const { end } of [busy, ...replaced, newest, outdated]) expect(await end).toBe('finished');
    const late = set('late', 9);
    expect(await late.end).toBe('finished');
    expect(newest.results).toMatchObject([{ kind: 'applied' }]);
    expect(requests.flat().map(({ workingOrders }) => workingOrders)).toEqual([
      ['busy'],
      ['newest'],
    ]);
    for (const { results } of [...replaced, outdated, late]) {
      expect(results).toMatchObject([{ kind: 'superseded' }]);
    }
  });

  it('survives a bug after the call, which is not repeated for it', async () => {
    jest.spyOn(bridge.get(ListWatermarks), 'raise').mockImplementationOnce(() => {
      throw new Error('a bug');
    });
    const machines = ['M-1', 'M-2'].map((machineId) => ({ machineId, workingOrders: ['4711'] }));
    const results = await finished({ machines, issuedAt: 20 });
    expect(results).toMatchObject([{ kind: 'applied' }, { kind: 'applied' }]);
    expect(requests).toEqual([machines]);
    const next = await finished({ machineId: 'M-1', workingOrders: [], issuedAt: 30 });
    expect(next).toMatchObject([{ kind: 'applied', attempts: 1 }]);
  });

  it('does not finish a list with a time of issue that was applied while its partition was lost', async () => {
    const { pass, arrived, open } = gate();
    answer = pass;
    const { ownership, end } = send({ machineId: 'M-1', workingOrders: [], issuedAt: 20 });
    await arrived;
    ownership.abort(stopping);
    open();
    // If it finished, the offset would be committed, and the next owner would let an older list follow.
    expect((await end) === 'finished').toBe(watermarks.get('M-1') === 20);
  });
});

function listOf(more: Partial<ListToSet> = {}): ListToSet {
  return { machineId: 'M-1', workingOrders: ['4711'], ...more };
}

const ofLedger = { workingOrders: () => ['4711'] };

describe('a list that waits while another comes', () => {
  it.each<[Precedence, Partial<ListToSet>, Partial<ListToSet>, (number | undefined)?, boolean?]>([
    ['newer', {}, {}],
    ['newer', { issuedAt: 10 }, { issuedAt: 20 }],
    ['newer', { issuedAt: 10 }, { issuedAt: 10 }],
    ['newer', { issuedAt: 20 }, {}],
    ['older', { issuedAt: 20 }, { issuedAt: 10 }],
    ['older', { issuedAt: 1 }, { issuedAt: 0 }],
    ['newer', {}, { issuedAt: 10 }],
    ['newer', {}, { issuedAt: 10 }, 10],
    ['apart', {}, { issuedAt: 10 }, 11],
    ['apart', {}, { issuedAt: 10 }, undefined, true],
    ['both', ofLedger, ofLedger],
    ['newer', ofLedger, {}],
    ['newer', {}, ofLedger],
    ['newer', ofLedger, { issuedAt: 10 }],
    ['newer', { issuedAt: 10 }, ofLedger],
  ])('%s counts, of %j and then %j', (precedence, older, newer, ...[applied, isCalled = false]) => {
    const [first, second] = [listOf(older), listOf(newer)];
    expect(precedenceOf(first, second, applied, isCalled)).toBe(precedence);
  });
});

describe('the size of a list', () => {
  it.each([0, 1, 50])('is close to that of a request, and never below, with %i orders', (count) => {
    const workingOrders = Array.from({ length: count }, (_, index) => `ORDER-${index}`);
    const bytes = JSON.stringify([{ machineId: 'M-1', workingOrders }]).length;
    const size = listBytes(listOf({ workingOrders }));
    expect(size).toBeGreaterThanOrEqual(bytes);
    expect(size).toBeLessThan(bytes + 50);
  });
});

const NOW_SECONDS = 1000;
const MAX_SKEW_SECONDS = 300;

const settings = {
  kafka: { topicPrefix: '', groupId: 'a-group' },
  erp: { commandMaxSkewSeconds: MAX_SKEW_SECONDS },
} as BridgeSettings;

const watermarksAt = (nowSeconds: number): ListWatermarks =>
  new ListWatermarks(settings, {} as KafkaClient, new ManualClock(nowSeconds * 1000));

/** A partition that was restored with these values. */
const restored = (
  partition: number,
  watermarks: [string, number][],
  lost?: AbortSignal,
): InputState<number> & TransactedState<number> =>
  ownedState(new Map(watermarks), {
    partition,
    name: INTERNAL_TOPICS.workOrderListFences,
    ...(lost && { lost }),
  });

describe('ListWatermarks', () => {
  it('uses the highest watermark of a machine in any partition', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(0, [['M-1', 10]]));
    watermarks.topic.own(restored(1, [['M-2', 20]]));
    watermarks.raise(1, 'M-1', 30);
    expect(watermarks.issuedAt('M-1')).toBe(30);
    expect(watermarks.issuedAt('M-2')).toBe(20);
    watermarks.raise(0, 'M-2', 15);
    expect(watermarks.issuedAt('M-2')).toBe(20);
    // It is never lowered.
    expect(watermarks.raise(1, 'M-1', 10)).toEqual([]);
    expect(watermarks.issuedAt('M-1')).toBe(30);
  });

  it('writes to the partition of the list', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(4, []));
    const topic = INTERNAL_TOPICS.workOrderListFences;
    const record = { topic, partition: 4, key: 'M-1', value: '30' };
    expect(watermarks.raise(4, 'M-1', 30)).toMatchObject([record]);
    expect(watermarks.raise(4, 'M-1', 30)).toMatchObject([record]);
    expect(watermarks.raise(5, 'M-1', 40)).toEqual([]);
  });

  it('forgets those of a revoked partition: its new owner has them', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    const losing = new AbortController();
    watermarks.topic.own(restored(0, [['M-1', 10]], losing.signal));
    losing.abort();
    expect(watermarks.issuedAt('M-1')).toBeUndefined();
  });

  it('uses watermarks that another process has raised meanwhile', () => {
    const watermarks = watermarksAt(NOW_SECONDS);
    watermarks.topic.own(restored(0, []));
    watermarks.raise(0, 'M-1', 10);
    watermarks.raise(0, 'M-2', 20);
    watermarks.topic.own(restored(0, [['M-1', 30]]));
    expect(watermarks.issuedAt('M-1')).toBe(30);
    expect(watermarks.issuedAt('M-2')).toBeUndefined();
  });

  it('ignores a watermark that no clock can have shown yet, warns of it, and lowers it', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const watermarks = watermarksAt(NOW_SECONDS);
    const latest = NOW_SECONDS + MAX_SKEW_SECONDS;
    const stored = { 'M-1': latest + 1, 'M-2': latest };
    watermarks.topic.own(restored(3, Object.entries(stored)));
    expect(warn.mock.calls).toMatchObject([[{ partition: 3, count: 1, machineIds: ['M-1'] }]]);
    expect(watermarks.issuedAt('M-1')).toBeUndefined();
    expect(watermarks.issuedAt('M-2')).toBe(latest);
    expect(watermarks.raise(3, 'M-1', 900)).toMatchObject([{ key: 'M-1', value: '900' }]);
    expect(watermarks.issuedAt('M-1')).toBe(900);
  });
});
