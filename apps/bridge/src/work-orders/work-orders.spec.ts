import { jest } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { realDelayMs } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import {
  type CommandOutcome,
  type MessageHeaders,
  type OrderMessage,
  type OrderSnapshot,
} from '#libs/contracts';
import { EquipmentMap } from '#libs/erp-formats';
import { Equipment } from '../equipment/index.js';
import { type InboundMessage, type OutboundRecord, type OwnedState } from '#libs/messaging';
import { type MessageAnswers } from '../command-delivery/index.js';
import { inboundMessage } from '../command-delivery/testing/inbound-message.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { PlatformModule } from '../platform/index.js';
import { ASSIGNMENT_CHANGES } from './assignments/assignment-change.js';
import { AssignmentChangesController } from './assignments/assignment-changes.controller.js';
import { Assignments } from './assignments/assignments.js';
import { type StoredAssignment } from './assignments/derive-assignments.js';
import { type ListToSet } from './lists/list-to-set.js';
import { WorkOrderLists } from './lists/work-order-lists.js';
import { GatheredReads } from './orders/gathered-reads.js';
import { Homes } from './orders/homes.js';
import { type KnownOrder } from './orders/known-order.js';
import { OrderIntake } from './orders/order-intake.js';
import { OrderLedger } from './orders/order-ledger.js';
import { RELAY_REPORTS } from './orders/relay-reports.js';
import { RELAYED_ORDERS } from './orders/relayed-orders.js';
import { RelaysController } from './orders/relays.controller.js';
import { type ReadMessage } from './orders/sorted-message.js';
import { WorkOrdersController } from './orders/work-orders.controller.js';
import { WorkOrdersModule } from './work-orders.module.js';

const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});

@Module({ imports: [PlatformModule.with(settings), WorkOrdersModule] })
class WorkOrdersAlone {}

interface Order {
  orderId: string;
  changedAt: number;
  /** The work centres of its operations, one each, which are machines unless a map says otherwise. */
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

function snapshotOf(orderId: string): OrderSnapshot {
  const operations = [{ operationId: '0010', machineId: 'M-1', status: 'released' as const }];
  return { orderId, changedAt: 1_701_160_000, status: 'released', operations };
}

/** SAP's document of several orders, each with one operation at work centre M-1. */
function loiproOf(orders: readonly { orderId: string; changed: string }[]): Buffer {
  const idocs = orders.map(
    ({ orderId, changed }) =>
      `<IDOC><EDI_DC40><SERIAL>${changed}</SERIAL></EDI_DC40><E1AFKOL><AUFNR>${orderId}</AUFNR>` +
      '<WERKS>1000</WERKS><E1JSTKL><STAT>I0002</STAT></E1JSTKL><E1AFFLL><PLNFL>0</PLNFL>' +
      '<E1AFVOL><VORNR>0010</VORNR><ARBPL>M-1</ARBPL></E1AFVOL></E1AFFLL></E1AFKOL></IDOC>',
  );
  return Buffer.from(`<LOIPRO01>${idocs.join('')}</LOIPRO01>`);
}

/** Orders are at home where their messages come through in these tests, but for those that begin with a 9. */
const homeOf = (orderId: string): number => (orderId.startsWith('9') ? 1 : 0);

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function headersOf(headers: OutboundRecord['headers']): Map<string, string> {
  const all = Array.isArray(headers) ? (headers as MessageHeaders) : Object.entries(headers);
  return new Map(all.map(([name, value]) => [name, String(value)]));
}

/** One partition of state as Kafka gives it out, without Kafka. */
function stateOf<V>(
  onRecords: (records: readonly OutboundRecord[]) => void,
  partition = 0,
): OwnedState<V> {
  const values = new Map<string, V>();
  return {
    partition,
    signal: new AbortController().signal,
    lost: new AbortController().signal,
    get: (key) => values.get(key),
    keys: () => values.keys(),
    entries: () => values.entries(),
    commit: (changes, records) => {
      for (const [key, value] of changes) {
        if (value === null) values.delete(key);
        else values.set(key, value);
      }
      onRecords(records);
      return Promise.resolve();
    },
  };
}

describe('orders on their way to the lists of machines', () => {
  let bridge: INestApplicationContext;
  /** Lists that are to be set, not settled yet. */
  let lists: { list: ListToSet; answers: MessageAnswers }[];
  let outcomes: string[];
  /** Why dead letters were written, and the machines they name. */
  let letters: {
    code: string | undefined;
    detail: string | undefined;
    machineIds?: readonly string[];
  }[];
  /** Offsets of messages whose end has come. */
  let finished: number[];
  let failed: unknown[];

  beforeEach(async () => {
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    [lists, outcomes, letters, finished, failed] = [[], [], [], [], []];
    jest.spyOn(bridge.get(MachineDirectory), 'hasMachine').mockReturnValue(true);
    jest.spyOn(bridge.get(WorkOrderLists), 'set').mockImplementation((list, answers) => {
      lists.push({ list, answers });
    });
    const homes = { ofOrder: homeOf, ofMachine: () => 0 };
    jest.spyOn(bridge.get(Homes), 'known').mockResolvedValue(homes);
    jest.spyOn(bridge.get(Homes), 'ofMachine').mockImplementation(homes.ofMachine);
    bridge.get(OrderLedger).own(stateOf<KnownOrder>(deliver));
    bridge.get(OrderLedger).own(stateOf<KnownOrder>(deliver, 1));
    bridge.get(Assignments).own(stateOf<StoredAssignment>(() => undefined));
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await bridge.close();
  });

  const messageOf = (
    topic: string,
    value: Buffer,
    offset: number,
    end: () => void,
    partition = 0,
  ): InboundMessage =>
    inboundMessage({
      ...{ topic, partition, offset, value, bytes: value.length },
      tell: (records) => {
        deliver(records);
      },
      finish: (records = []) => {
        deliver(records);
        end();
      },
      fail: (error) => failed.push(error),
    });

  let delivered = 0;
  /** What the bridge writes: for itself, what became of messages, and those it sets aside. */
  const deliver = (records: readonly OutboundRecord[]): void => {
    const messagesOf = (topic: string): InboundMessage[] =>
      records
        .filter((record) => record.topic.includes(topic) && record.value !== null)
        .map(({ value, partition = 0 }) => {
          delivered += 1;
          const end = (): void => undefined;
          return messageOf(topic, Buffer.from(String(value)), delivered, end, partition);
        });
    void bridge.get(AssignmentChangesController).handle(messagesOf(ASSIGNMENT_CHANGES));
    const [relayed, reports] = [messagesOf(RELAYED_ORDERS), messagesOf(RELAY_REPORTS)];
    for (const home of [0, 1]) {
      const isHere = ({ partition }: InboundMessage): boolean => partition === home;
      void bridge.get(RelaysController).handleOrders(relayed.filter(isHere));
      void bridge.get(RelaysController).handleReports(reports.filter(isHere));
    }
    for (const { topic, headers, value } of records) {
      const said = headersOf(headers);
      if (topic.endsWith('.dlq')) {
        const machineIds = said.get('dlq-machine-ids')?.split(',');
        const [code, detail] = [said.get('dlq-code'), said.get('dlq-detail')];
        letters.push({ code, detail, ...(machineIds && { machineIds }) });
      } else if (topic.includes('outcomes')) {
        const { machineId, source } = JSON.parse(String(value)) as CommandOutcome;
        outcomes.push(`${said.get('ce_type')} of ${machineId}, offset ${source.offset}`);
      }
    }
  };

  const orderMessage = (value: Buffer | Order, offset = 7): InboundMessage => {
    const body = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(orderOf(value)));
    return messageOf('erp.work-orders.v1', body, offset, () => finished.push(offset));
  };

  const handle = async (...messages: InboundMessage[]): Promise<void> => {
    await bridge.get(WorkOrdersController).handle(messages);
    // there and back again takes some
    for (let turns = 0; turns < 5; turns += 1) await nextTurn();
  };

  /** The service takes all lists that are to be set. */
  const applyAll = async (): Promise<void> => {
    for (const { list, answers } of lists.splice(0)) {
      const { machineId } = list;
      answers.settle({ kind: 'applied', machineId, attempts: 1, appliedAt: 100 }, 0);
    }
    await nextTurn();
  };

  it('sets the list of each machine that an order touches, and answers for each by itself', async () => {
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1', 'M-2'] }));
    expect(lists.map(({ list }) => [list.machineId, list.workingOrders()])).toEqual([
      ['M-1', ['4711']],
      ['M-2', ['4711']],
    ]);
    expect({ finished, outcomes }).toEqual({ finished: [7], outcomes: [] });
    await applyAll();
    expect(outcomes).toEqual([
      'work-order-list.applied.v1 of M-1, offset 7',
      'work-order-list.applied.v1 of M-2, offset 7',
    ]);
  });

  it('draws a list when it is sent: it says all that later messages said', async () => {
    await handle(
      orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 7),
      orderMessage({ orderId: '4712', changedAt: 1, machines: ['M-1'] }, 8),
    );
    expect(lists.map(({ list }) => [list.cumulative, list.workingOrders()])).toEqual([
      [true, ['4711', '4712']],
      [true, ['4711', '4712']],
    ]);
  });

  it('leaves what has not been read yet to the new owner of a partition that is lost', async () => {
    const lost = orderMessage(Buffer.from('not read: this is no order'));
    const abandoned = jest.spyOn(lost, 'abandon');
    lost.ownership.lose(new Error('another process has it'));
    await handle(lost);
    expect(abandoned).toHaveBeenCalledTimes(1);
    expect({ letters, outcomes, finished }).toEqual({ letters: [], outcomes: [], finished: [] });
  });

  it('answers a document of several orders with one outcome for each machine', async () => {
    const document = loiproOf([
      { orderId: '4711', changed: '20231128083400000000' },
      { orderId: '4711', changed: '20231127083400000000' },
      { orderId: '4712', changed: '20231128083400000000' },
    ]);
    await handle(orderMessage(document));
    expect(lists).toHaveLength(1);
    await applyAll();
    expect(outcomes).toEqual(['work-order-list.applied.v1 of M-1, offset 7']);
    expect(finished).toEqual([7]);
  });

  describe('of other partitions than the one they come through', () => {
    const document = loiproOf([
      { orderId: '4711', changed: '20231128083400000000' },
      { orderId: '9712', changed: '20231128083400000000' },
    ]);

    it('are taken home, and the document is answered as if they had been there', async () => {
      await handle(orderMessage(document));
      expect(lists.map(({ list }) => [list.machineId, list.workingOrders()])).toEqual(
        // of each order, and then of the document
        Array(3).fill(['M-1', ['4711', '9712']]),
      );
      expect(finished).toEqual([7]);
      await applyAll();
      expect(outcomes).toEqual(['work-order-list.applied.v1 of M-1, offset 7']);
    });

    it('are not overtaken by the message behind, where they were at home', async () => {
      const change = { orderId: '4711', changedAt: 1_701_160_001, status: 'completed' as const };
      const orders = [
        { kind: 'snapshot' as const, order: snapshotOf('4711') },
        { kind: 'snapshot' as const, order: snapshotOf('9712') },
      ];
      const read = (offset: number, told: readonly OrderMessage[]): ReadMessage => {
        const message = orderMessage(document, offset);
        const source = { topic: 'orders', partition: 0, offset, messageId: null };
        return { answered: { message, messageId: null }, source, recordedAt: 0, orders: told };
      };
      await bridge
        .get(OrderIntake)
        .take([read(7, orders), read(8, [{ kind: 'change', order: change }])]);
      for (let turns = 0; turns < 5; turns += 1) await nextTurn();
      expect(lists.at(-1)?.list.workingOrders()).toEqual(['9712']);
      await applyAll();
      expect(outcomes.filter((each) => !each.includes('applied'))).toEqual([]);
      expect(letters).toEqual([]);
      expect(finished.toSorted()).toEqual([7, 8]);
    });

    it('are known there, whichever partition tells of them next', async () => {
      await handle(orderMessage(document));
      await applyAll();
      await handle(orderMessage({ orderId: '9712', changedAt: 10, machines: ['M-1'] }, 8));
      expect(outcomes.at(-1)).toBe('work-order-list.superseded.v1 of M-1, offset 8');
      expect(finished).toEqual([7, 8]);
    });

    it('have one dead letter a document, which is written where that came through', async () => {
      const mapped = EquipmentMap.of([]);
      jest
        .spyOn(bridge.get(Equipment, { strict: false }), 'machineOf')
        .mockImplementation((operation) => mapped.machineOf(operation));
      await handle(orderMessage(document));
      const detail =
        'no machine is mapped for plant/work centre 1000/M-1 of order 4711, 1000/M-1 of order 9712';
      expect(letters).toMatchObject([{ code: 'unmapped-work-centre', detail }]);
      expect(outcomes).toEqual(['work-order-list.rejected.v1 of null, offset 7']);
      expect(finished).toEqual([7]);
    });

    it('are answered where they concern no machine', async () => {
      await handle(orderMessage({ orderId: '9711', changedAt: 1, machines: [] }));
      expect({ outcomes, finished }).toEqual({
        outcomes: ['work-order-list.applied.v1 of null, offset 7'],
        finished: [7],
      });
    });

    it('are taken home again by whoever has the partition next', async () => {
      const lost = orderMessage(document);
      const abandoned = jest.spyOn(lost, 'abandon');
      const away = jest.spyOn(bridge.get(RelaysController), 'handleOrders').mockResolvedValue();
      await bridge.get(WorkOrdersController).handle([lost]);
      await nextTurn();
      expect({ finished, abandoned: abandoned.mock.calls.length }).toEqual({
        finished: [],
        abandoned: 0,
      });
      lost.ownership.lose(new Error('another process has it'));
      expect(abandoned).toHaveBeenCalledTimes(1);
      away.mockRestore();
      await handle(orderMessage(document));
      expect(finished).toEqual([7]);
    });

    it('are set aside where they cannot be written at home, and the others are not', async () => {
      const tooLarge = Object.assign(new Error('too large'), { type: 'MESSAGE_TOO_LARGE' });
      const state = stateOf<KnownOrder>(deliver, 1);
      bridge.get(OrderLedger).own({ ...state, commit: () => Promise.reject(tooLarge) });
      await handle(orderMessage(document));
      for (let turns = 0; turns < 5; turns += 1) await nextTurn();
      expect(lists.map(({ list }) => list.workingOrders())).toEqual([['4711'], ['4711']]);
      expect(letters).toMatchObject([{ code: 'too-large' }]);
      expect(finished).toEqual([7]);
    });
  });

  it('answers an order that has changed since without a call', async () => {
    await handle(orderMessage({ orderId: '4711', changedAt: 20, machines: ['M-1'] }, 7));
    await applyAll();
    await handle(orderMessage({ orderId: '4711', changedAt: 10, machines: ['M-1'] }, 8));
    expect(lists).toEqual([]);
    expect(outcomes.at(-1)).toBe('work-order-list.superseded.v1 of M-1, offset 8');
    expect(finished).toEqual([7, 8]);
  });

  it('rejects the operations that have no machine, and sets the lists of the others', async () => {
    const mapped = EquipmentMap.of([{ plant: '1000', workCentre: 'FR01', machineId: 'M-1' }]);
    jest
      .spyOn(bridge.get(Equipment, { strict: false }), 'machineOf')
      .mockImplementation((operation) => mapped.machineOf(operation));
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['FR01', 'FR99'] }));
    expect(lists.map(({ list }) => list.machineId)).toEqual(['M-1']);
    await applyAll();
    expect(letters).toMatchObject([{ code: 'unmapped-work-centre' }]);
    expect(finished).toEqual([7]);
  });

  it('names all machines that do not exist in one dead letter, and sets the lists of the others', async () => {
    const directory = bridge.get(MachineDirectory);
    jest.spyOn(directory, 'hasMachine').mockImplementation((machineId) => machineId === 'M-1');
    jest.spyOn(directory, 'checkMachine').mockResolvedValue('unknown');
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1', 'X-1', 'X-2'] }));
    expect(lists.map(({ list }) => list.machineId)).toEqual(['M-1']);
    expect(letters).toMatchObject([{ code: 'unknown-machine', machineIds: ['X-1', 'X-2'] }]);
  });

  it('names the one machine that does not exist where the order has others', async () => {
    const directory = bridge.get(MachineDirectory);
    jest.spyOn(directory, 'hasMachine').mockImplementation((machineId) => machineId === 'M-1');
    jest.spyOn(directory, 'checkMachine').mockResolvedValue('unknown');
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1', 'X-1'] }));
    expect(letters).toMatchObject([{ code: 'unknown-machine', machineIds: ['X-1'] }]);
  });

  it('leaves it to the call whether a machine exists when nobody can be asked', async () => {
    const directory = bridge.get(MachineDirectory);
    jest.spyOn(directory, 'hasMachine').mockReturnValue(false);
    jest.spyOn(directory, 'checkMachine').mockResolvedValue({
      kind: 'unavailable',
      why: 'getMachineInfo: HTTP 503',
      afterMs: null,
    });
    await handle(orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }));
    expect(lists.map(({ list }) => list.machineId)).toEqual(['M-1']);
  });

  it('rejects for its machine a change that is too large to be written, and never calls it applied', async () => {
    const original = orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1', 'M-2'] });
    const { key, value, headers, partition, offset, timestamp } = original;
    const stored = { topic: original.topic, key, value, headers, partition, offset, timestamp };
    jest.spyOn(GatheredReads.prototype, 'read').mockResolvedValue(stored);
    const tooLarge = Object.assign(new Error('too large'), { type: 'MESSAGE_TOO_LARGE' });
    const state = stateOf<StoredAssignment>(() => undefined);
    const own = (): void => {
      bridge.get(Assignments).own({
        ...state,
        commit: (written, records) =>
          written.some(([key]) => key.startsWith('M-1'))
            ? Promise.reject(tooLarge)
            : state.commit(written, records),
      });
    };
    own();
    await handle(original);
    // Restored after each failure: of both changes together, then of the one.
    own();
    await nextTurn();
    own();
    await nextTurn();
    expect(lists.map(({ list }) => [list.machineId, list.workingOrders()])).toEqual([
      ['M-2', ['4711']],
    ]);
    // The faults of a message are gathered before it is set aside, and told of after that.
    while (outcomes.length === 0) await realDelayMs(20);
    expect(outcomes).toEqual(['work-order-list.rejected.v1 of M-1, offset 7']);
    expect(letters).toMatchObject([{ code: 'too-large', machineIds: ['M-1'] }]);
    expect(failed).toEqual([]);
  });

  it('rejects what it cannot read, and takes the messages behind it', async () => {
    await handle(
      orderMessage(Buffer.from('{'), 7),
      orderMessage({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 8),
    );
    expect(outcomes).toEqual(['work-order-list.rejected.v1 of null, offset 7']);
    expect(letters).toMatchObject([{ code: 'invalid-json' }]);
    expect(lists).toHaveLength(1);
    expect(finished.toSorted()).toEqual([7, 8]);
    expect(failed).toEqual([]);
  });
});
