import { jest } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { realDelayMs } from '#libs/clock';
import type { CommandOutcome, MessageHeaders } from '#libs/contracts';
import { EquipmentMap } from '#libs/erp-formats';
import { type InboundMessage, type OutboundRecord, RecordRefusedError } from '#libs/kafka';
import type { AssignedOperation, KnownOrder } from '#libs/order-ledger';
import { Equipment } from './equipment/equipment.js';
import type { MessageResults } from '../delivery/index.js';
import { inboundMessage } from '../delivery/testing/inbound-message.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { PlatformModule } from '../platform/index.js';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { type ListToSet, ordersOf, WorkOrderLists } from './lists/work-order-lists.js';
import { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import {
  ASSIGNMENT_CHANGES,
  ORDER_REFUSALS,
  OrderQueues,
  RELAYED_ORDERS,
} from './orders/order-queues.js';
import { OrderLedger } from './orders/order-ledger.js';
import { ownedState } from './testing/owned-state.js';
import { WorkOrdersController } from './work-orders.controller.js';
import { WorkOrdersModule } from './work-orders.module.js';
import { respond, StubService } from '../../../../libs/http-calls/test/stub-service.js';
import { whenListed } from '../machine-directory/testing/when-listed.js';
import { OrderRelay } from './orders/order-relay.js';

const settings = bridgeSettings();

@Module({ imports: [PlatformModule.with(settings), WorkOrdersModule] })
class WorkOrdersAlone {}

interface Order {
  orderId: string;
  changedAt: number;
  /** One operation for each work centre, which is a machine unless a map says otherwise. */
  machines: readonly string[];
}

function orderOf({ orderId, changedAt, machines }: Order): object {
  const operations = machines.map((workCentre, index) => ({
    operationId: `00${index + 1}0`,
    plant: '1000',
    workCentre,
    status: 'released',
  }));
  return { orderId, changedAt, status: 'released', operations };
}

/** An SAP document of several orders, each with one operation at work centre M-1. */
function loiproOf(orders: readonly { orderId: string; changed: string }[]): Buffer {
  const idocs = orders.map(
    ({ orderId, changed }) =>
      `<IDOC><EDI_DC40><SERIAL>${changed}</SERIAL></EDI_DC40><E1AFKOL><AUFNR>${orderId}</AUFNR>` +
      '<WERKS>1000</WERKS><E1JSTKL><STAT>I0002</STAT></E1JSTKL><E1AFFLL><PLNFL>0</PLNFL>' +
      '<E1AFVOL><VORNR>0010</VORNR><ARBPL>M-1</ARBPL></E1AFVOL></E1AFFLL></E1AFKOL></IDOC>',
  );
  return Buffer.from(`<LOIPRO01>${idocs.join('')}</LOIPRO01>`);
}

/** Orders go to partition 0, except those that begin with a 9. */
const partitionOf = (orderId: string): number => (orderId.startsWith('9') ? 1 : 0);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function headersOf(headers: OutboundRecord['headers']): Map<string, string> {
  const all = Array.isArray(headers) ? (headers as MessageHeaders) : Object.entries(headers);
  return new Map(all.map(([name, value]) => [name, String(value)]));
}

describe('orders and the lists of machines', () => {
  let bridge: INestApplicationContext;
  let lists: { list: ListToSet; answers: MessageResults }[];
  let outcomes: string[];
  /** Codes and machines of dead letters. */
  let deadLetters: {
    code: string | undefined;
    detail: string | undefined;
    machineIds?: readonly string[];
  }[];
  let finished: number[];
  let failed: unknown[];

  beforeEach(async () => {
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    [lists, outcomes, deadLetters, finished, failed] = [[], [], [], [], []];
    unwritable = undefined;
    jest.spyOn(bridge.get(MachineDirectory), 'hasMachine').mockReturnValue(true);
    const { flow } = bridge.get(WorkOrderLists);
    jest.spyOn(flow, 'submitCommand').mockImplementation((_, list, answers) => {
      lists.push({ list, answers });
    });
    const readPartitionCounts = (): Promise<void> => Promise.resolve();
    const queues = {
      readPartitionCounts,
      partitionOfOrder: partitionOf,
      partitionOfMachine: () => 0,
      tombstone: () => [],
    };
    Object.assign(bridge.get(OrderQueues), queues);
    for (const partition of [0, 1]) {
      bridge.get(OrderLedger).orders.own(ownedState<KnownOrder>(undefined, { partition }));
    }
    bridge.get(OrderLedger).assignments.own(ownedState<readonly AssignedOperation[]>());
  });

  afterEach(() => bridge.close());

  /** A topic to which only tombstones and refusals can be written. */
  let unwritable: string | undefined;

  const messageOf = (
    topic: string,
    value: Buffer,
    offset: number,
    end: () => void,
    partition = 0,
  ): InboundMessage => {
    const refusal = new RecordRefusedError('too-large', new Error('1 MB'));
    const message = inboundMessage({
      ...{ topic, partition, offset, value, bytes: value.length },
      publish: (records) => deliver(records),
      finish: (records = [], orElse = () => []) => {
        const isRefused = records.some((each) => each.topic === unwritable && each.value !== null);
        deliver(isRefused ? orElse(refusal) : records);
        end();
      },
      finishWith: (others, records, apart) => {
        const isRefused = records.some((each) => each.topic === unwritable);
        if (isRefused) for (const each of [message, ...others]) apart(each, refusal);
        else {
          message.finish(records);
          for (const other of others) other.finish();
        }
      },
      fail: (error) => failed.push(error),
    });
    return message;
  };

  let delivered = 0;
  /** The bridge's records: queues and state, outcomes, and dead letters. */
  const deliver = (records: readonly OutboundRecord[]): void => {
    const messagesOf = (topic: string): InboundMessage[] =>
      records
        .filter((record) => record.topic === topic && record.value !== null)
        .map(({ value, partition = 0 }) => {
          delivered += 1;
          const end = (): void => undefined;
          return messageOf(topic, Buffer.from(String(value)), delivered, end, partition);
        });
    const queues = bridge.get(WorkOrdersController);
    void queues.handleOrders(messagesOf(RELAYED_ORDERS));
    void queues.handleChanges(messagesOf(ASSIGNMENT_CHANGES));
    void queues.handleRefusals(messagesOf(ORDER_REFUSALS));
    for (const { topic, headers, value } of records) {
      const said = headersOf(headers);
      if (topic.endsWith('.dlq')) {
        const machineIds = said.get('dlq-machine-ids')?.split(',');
        const [code, detail] = [said.get('dlq-code'), said.get('dlq-detail')];
        deadLetters.push({ code, detail, ...(machineIds && { machineIds }) });
      } else if (topic.includes('outcomes')) {
        const { orderId, machineId, source } = JSON.parse(String(value)) as CommandOutcome;
        const type = said.get('ce_type')?.replace(/^work-order-list[.](.*)[.]v1$/, '$1');
        outcomes.push(`${source.offset}: ${type} ${orderId} on ${machineId}`);
      }
    }
  };

  const orderMessage = (value: Buffer | Order, offset = 7): InboundMessage => {
    const body = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(orderOf(value)));
    return messageOf('erp.work-orders.v1', body, offset, () => finished.push(offset));
  };

  const handle = async (...messages: InboundMessage[]): Promise<void> => {
    await bridge.get(WorkOrdersController).handleDocuments(messages);
    // A look-up takes a few turns of the event loop.
    for (let turns = 0; turns < 5; turns += 1) await nextTurn();
  };

  /** An ERP's answer with order 4711. */
  const relay = async (askedAt: number, answer: object): Promise<void> => {
    const source = { topic: 't', partition: 0, offset: 8, messageId: null };
    const order = { orderId: '4711', source, recordedAt: askedAt, askedAt, ...answer };
    const value = Buffer.from(JSON.stringify({ orders: [order] }));
    const relayed = messageOf(RELAYED_ORDERS, value, 1, () => undefined);
    await bridge.get(WorkOrdersController).handleOrders([relayed]);
    await nextTurn();
  };

  const relayGone = (askedAt: number): Promise<void> => {
    const order = { orderId: '4711', changedAt: askedAt / 1000, status: 'cancelled' };
    const messages = [{ kind: 'change', order }];
    return relay(askedAt, { gone: 'the ERP does not have it', messages });
  };

  const applyAll = async (): Promise<void> => {
    for (const { list, answers } of lists.splice(0)) {
      const { machineId } = list;
      answers.addResult({ kind: 'applied', machineId, attempts: 1, appliedAt: 100 }, 0);
    }
    await nextTurn();
  };

  const mapBy = (entries: Parameters<typeof EquipmentMap.of>[0]): void => {
    const map = EquipmentMap.of(entries);
    const equipment = bridge.get(Equipment, { strict: false });
    jest.spyOn(equipment, 'machineOf').mockImplementation((each) => map.machineOf(each));
  };

  const listFirstAlone = (): void => {
    const directory = bridge.get(MachineDirectory);
    jest.spyOn(directory, 'hasMachine').mockImplementation((machineId) => machineId === 'M-1');
    jest.spyOn(directory, 'checkMachine').mockResolvedValue('unknown');
  };

  it('sets the list of each machine of an order, with an outcome for each', async () => {
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1', 'M-2'] }));
    expect(lists.map(({ list }) => [list.machineId, ordersOf(list)])).toEqual([
      ['M-1', ['4711']],
      ['M-2', ['4711']],
    ]);
    expect({ finished, outcomes }).toEqual({ finished: [7], outcomes: [] });
    await applyAll();
    expect(outcomes).toEqual(['7: applied 4711 on M-1', '7: applied 4711 on M-2']);
  });

  it('builds a list when it is sent: it includes later messages', async () => {
    await handle(
      orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 7),
      orderMessage({ orderId: '4712', changedAt: 1, machines: ['M-1'] }, 8),
    );
    expect(lists.map(({ list }) => ordersOf(list))).toEqual(Array(2).fill(['4711', '4712']));
  });

  it('abandons unread messages when their partition is revoked', async () => {
    const unread = orderMessage(Buffer.from('not read: this is no order'));
    const lost = { ...unread, revoked: AbortSignal.abort(new Error('another process has it')) };
    const abandoned = jest.spyOn(lost, 'abandon');
    await handle(lost);
    expect(abandoned).toHaveBeenCalledTimes(1);
    expect([deadLetters, outcomes, finished]).toEqual([[], [], []]);
  });

  describe('in a document of several', () => {
    const document = loiproOf([
      { orderId: '4711', changed: '20231128083400000000' },
      { orderId: '4711', changed: '20231127083400000000' },
      { orderId: '9712', changed: '20231128083400000000' },
    ]);

    it('get one outcome each, however often the document names them', async () => {
      await handle(orderMessage(document));
      expect(lists.map(({ list }) => [list.machineId, ordersOf(list)])).toEqual(
        Array(2).fill(['M-1', ['4711', '9712']]),
      );
      await applyAll();
      expect(outcomes).toEqual(['7: applied 4711 on M-1', '7: applied 9712 on M-1']);
      expect(finished).toEqual([7]);
    });

    it('are known whichever partition has their next message, which is superseded without a call if it is older', async () => {
      await handle(orderMessage(document));
      await applyAll();
      await handle(orderMessage({ orderId: '9712', changedAt: 10, machines: ['M-1'] }, 8));
      expect(outcomes.at(-1)).toBe('8: superseded 9712 on M-1');
      expect({ lists, finished }).toEqual({ lists: [], finished: [7, 8] });
    });

    it('share a dead letter where the document is read', async () => {
      mapBy([]);
      await handle(orderMessage(document));
      const detail = 'no machine is mapped for plant/work centre 1000/M-1 of order 4711';
      expect(deadLetters).toMatchObject([{ code: 'unmapped-work-centre', detail }]);
      expect(outcomes).toEqual(['7: rejected 4711 on null', '7: rejected 9712 on null']);
      expect(finished).toEqual([7]);
    });
  });

  it('get an outcome if they affect no machine', async () => {
    await handle(orderMessage({ orderId: '9711', changedAt: 1, machines: [] }));
    expect({ outcomes, finished }).toEqual({
      outcomes: ['7: applied 9711 on null'],
      finished: [7],
    });
  });

  it.each([
    ['to be relayed', RELAYED_ORDERS],
    ['to be kept', 'a-ledger'],
  ])('become dead letters where they are too large %s', async (_what, topic) => {
    jest.spyOn(DeadLetterAggregator.prototype, 'readMessages').mockResolvedValue([]);
    for (const partition of [0, 1]) {
      bridge
        .get(OrderLedger)
        .orders.own(ownedState<KnownOrder>(undefined, { partition, name: 'a-ledger' }));
    }
    unwritable = topic;
    await handle(orderMessage({ orderId: '4711', changedAt: 20, machines: ['M-1'] }));
    while (deadLetters.length === 0) await realDelayMs(20);
    expect(deadLetters).toMatchObject([{ code: 'too-large' }]);
    expect({ lists, failed }).toEqual({ lists: [], failed: [] });
    // An order that cannot be stored is not known.
    unwritable = undefined;
    await handle(orderMessage({ orderId: '4711', changedAt: 10, machines: ['M-1'] }, 8));
    expect(lists.map(({ list }) => ordersOf(list))).toEqual([['4711']]);
  });

  it.each([
    ['takes off its machine what the ERP did not have when it was asked later', 30_000, []],
    ['leaves there what the ERP did not have when it was asked before', 10_000, ['4711']],
  ])('%s, though the clock of the ERP is ahead', async (_what, askedAt, expected) => {
    const known = orderMessage({ orderId: '4711', changedAt: 100, machines: ['M-1'] });
    await handle({ ...known, timestamp: '20000' });
    await relayGone(askedAt);
    expect(ordersOf(lists[0]!.list)).toEqual(expected);
  });

  it.each([
    ['asked for later, however old it says the order is', 30_001, ['4711']],
    ['that was asked for before', 29_999, []],
  ])('applies an answer %s, once the ERP did not have the order', async (_, askedAt, expected) => {
    await handle(orderMessage({ orderId: '4711', changedAt: 10, machines: ['M-1'] }));
    await relayGone(30_000);
    const order = orderOf({ orderId: '4711', changedAt: 10, machines: ['M-1'] });
    await relay(askedAt, { messages: [{ kind: 'snapshot', order }] });
    expect(ordersOf(lists[0]!.list)).toEqual(expected);
  });

  it('rejects operations without a machine, and sets the lists of the others', async () => {
    mapBy([{ plant: '1000', workCentre: 'FR01', machineId: 'M-1' }]);
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['FR01', 'FR99'] }));
    expect(lists.map(({ list }) => list.machineId)).toEqual(['M-1']);
    await applyAll();
    expect(deadLetters).toMatchObject([{ code: 'unmapped-work-centre' }]);
    expect(finished).toEqual([7]);
  });

  describe('that are older than the known order and rejected when they are read', () => {
    beforeEach(async () => {
      mapBy([
        { plant: '1000', workCentre: 'FR01', machineId: 'M-1' },
        { plant: '1000', workCentre: 'X-1', machineId: 'X-1' },
      ]);
      listFirstAlone();
      await handle(orderMessage({ orderId: '4711', changedAt: 20, machines: ['FR01'] }, 7));
      await applyAll();
    });

    it.each([
      ['for its only work centre', ['FR99'], ['8: rejected 4711 on null']],
      ['for its only machine', ['X-1'], ['8: rejected 4711 on X-1']],
      [
        'for one of its machines',
        ['FR01', 'X-1'],
        ['8: rejected 4711 on X-1', '8: superseded 4711 on M-1'],
      ],
    ])('have one final outcome for each machine: %s', async (_what, machines, expected) => {
      await handle(orderMessage({ orderId: '4711', changedAt: 10, machines }, 8));
      expect(outcomes.slice(1)).toEqual(expected);
    });
  });

  it.each([
    [['M-1', 'X-1', 'X-2'], ['M-1'], ['X-1', 'X-2']],
    [['M-1', 'X-1'], ['M-1'], ['X-1']],
    [['X-1'], [], ['X-1']],
  ])(
    'of machines %j sets the lists of %j, and names in one dead letter those that do not exist',
    async (machines, listed, machineIds) => {
      listFirstAlone();
      await handle(orderMessage({ orderId: '4711', changedAt: 1, machines }));
      expect(lists.map(({ list }) => list.machineId)).toEqual(listed);
      expect(deadLetters).toMatchObject([{ code: 'unknown-machine', machineIds }]);
    },
  );

  it('dead-letters no message for a machine that no longer exists and that its order has left', async () => {
    jest.spyOn(DeadLetterAggregator.prototype, 'readMessages').mockResolvedValue([]);
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 7));
    await applyAll();
    await handle(orderMessage({ orderId: '4711', changedAt: 2, machines: ['M-2'] }, 8));
    const [left] = lists.splice(0, 1);
    const detail = 'the service lists no machine M-1';
    const refusal = { code: 'unknown-machine', detail } as const;
    const result = { kind: 'rejected', machineId: 'M-1', attempts: 0, rejection: refusal } as const;
    left?.answers.addResult(result, 0);
    await applyAll();
    expect(outcomes.slice(1)).toEqual(['8: superseded 4711 on M-1', '8: applied 4711 on M-2']);
    expect(deadLetters).toEqual([]);
  });

  it.each([
    ['of an order that is over', 'cancelled', 'released'],
    ['that is done itself', 'released', 'completed'],
  ])('takes an operation %s for none that needs its machine', async (_, status, ofOperation) => {
    listFirstAlone();
    const operations = [
      { operationId: '0010', machineId: 'X-1', status: ofOperation },
      { operationId: '0020', machineId: 'M-1' },
    ];
    const order = { orderId: '4711', changedAt: 1, status, operations };
    await handle(orderMessage(Buffer.from(JSON.stringify(order))));
    expect(deadLetters).toEqual([]);
    expect(lists.map(({ list }) => list.machineId)).toEqual(['X-1', 'M-1']);
  });

  it('leaves an unknown machine to its call if it cannot be looked up', async () => {
    const directory = bridge.get(MachineDirectory);
    jest.spyOn(directory, 'hasMachine').mockReturnValue(false);
    jest
      .spyOn(directory, 'checkMachine')
      .mockResolvedValue({ kind: 'unavailable', why: 'getMachineInfo: HTTP 503', afterMs: null });
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }));
    expect(lists.map(({ list }) => list.machineId)).toEqual(['M-1']);
  });

  it('rejects an assignment that is too large to be stored, and never publishes it as applied', async () => {
    jest.spyOn(DeadLetterAggregator.prototype, 'readMessages').mockResolvedValue([]);
    bridge
      .get(OrderLedger)
      .assignments.own(ownedState<readonly AssignedOperation[]>(undefined, { name: 'assigned' }));
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }));
    unwritable = 'assigned';
    const [first] = lists;
    await applyAll();
    while (outcomes.length === 0) await realDelayMs(20);
    expect(outcomes).toEqual(['7: rejected 4711 on M-1']);
    expect(deadLetters).toMatchObject([{ code: 'too-large', machineIds: ['M-1'] }]);
    expect({ failed, list: ordersOf(first!.list) }).toEqual({ failed: [], list: [] });
  });

  it('rejects unreadable messages, and handles later ones', async () => {
    await handle(
      orderMessage(Buffer.from('{'), 7),
      orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 8),
    );
    expect(outcomes).toEqual(['7: rejected undefined on null']);
    expect(deadLetters).toMatchObject([{ code: 'invalid-json' }]);
    expect(lists).toHaveLength(1);
    expect(finished.toSorted()).toEqual([7, 8]);
    expect(failed).toEqual([]);
  });
});

it('looks unlisted machines up together, even directly after a look-up, and not again for each message', async () => {
  const service = await StubService.start();
  const names = { machineDisplayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };
  service.answers(respond(200, [{ ...names, machineUniqueId: 'M-1' }]));
  const ofService = bridgeSettings({ MACHINE_CLOUD_BASE_URL: service.baseUrl });
  @Module({ imports: [PlatformModule.with(ofService), WorkOrdersModule] })
  class WorkOrdersOfService {}
  const bridge = await NestFactory.createApplicationContext(WorkOrdersOfService, { logger: false });
  await whenListed(bridge.get(MachineDirectory));
  const { signal } = new AbortController();
  const refused = async (...machineIds: string[]): Promise<string[]> => {
    const operations = machineIds.map((machineId) => ({ operationId: '0010', machineId }));
    const order = { orderId: '4711', changedAt: 1, operations };
    const changes = [{ kind: 'change', order } as const];
    return [...(await bridge.get(OrderRelay).refuseUnlisted(changes, signal)).keys()];
  };
  expect(service.requests).toHaveLength(1);
  expect(await refused('M-1', 'X-1', 'X-2')).toEqual(['X-1', 'X-2']);
  for (let message = 0; message < 100; message += 1) expect(await refused('X-1')).toEqual(['X-1']);
  expect(service.requests).toHaveLength(2);
  expect(compositesOf(signal)).toBe(0);
  await bridge.close();
  await service.stop();
});

/** The entries that `AbortSignal.any` leaves at a signal. With Node 20 they stay for as long as the signal lives. */
function compositesOf(signal: AbortSignal): number {
  const symbols = Object.getOwnPropertySymbols(signal);
  const own = symbols.find(({ description }) => description === 'kDependantSignals');
  return own === undefined ? 0 : ((Reflect.get(signal, own) as Set<unknown> | null)?.size ?? 0);
}
