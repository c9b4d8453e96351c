import { jest } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadBridgeSettings } from '#libs/config';
import { EquipmentMap } from '#libs/erp-formats';
import { type InboundMessage, PartitionOwnership } from '#libs/messaging';
import {
  CommandOutcomes,
  type CommandResult,
  type MessageAnswers,
} from '../command-delivery/index.js';
import { PlatformModule } from '../platform/index.js';
import { type ListToSet } from './list-to-set.js';
import { WorkOrderLists } from './work-order-lists.js';
import { WorkOrdersController } from './work-orders.controller.js';
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

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('WorkOrdersController', () => {
  let bridge: INestApplicationContext;
  let controller: WorkOrdersController;
  /** Lists that are to be set, not settled yet. */
  let lists: { list: ListToSet; answers: MessageAnswers }[];
  let published: (readonly CommandResult[])[];
  let finished: number[];
  let failed: unknown[];

  beforeEach(async () => {
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    controller = bridge.get(WorkOrdersController);
    [lists, published, finished, failed] = [[], [], [], []];
    jest.spyOn(bridge.get(WorkOrderLists), 'set').mockImplementation((list, answers) => {
      lists.push({ list, answers });
    });
    jest.spyOn(bridge.get(CommandOutcomes), 'publish').mockImplementation((_, __, results) => {
      published.push(results);
      return Promise.resolve();
    });
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await bridge.close();
  });

  const messageOf = (
    value: Buffer | Order,
    offset = 7,
    headers: InboundMessage['headers'] = {},
  ): InboundMessage => {
    const place = { topic: 'erp.work-orders.v1', partition: 0, offset, timestamp: '0', bytes: 1 };
    const body = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(orderOf(value)));
    return {
      ...{ ...place, key: null, value: body, headers, ownership: new PartitionOwnership() },
      finish: () => finished.push(offset),
      abandon: () => undefined,
      fail: (error: unknown) => failed.push(error),
    };
  };

  /** The service takes all lists that are to be set. */
  const applyAll = async (): Promise<void> => {
    for (const { list, answers } of lists.splice(0)) {
      const { machineId } = list;
      answers.settle({ kind: 'applied', machineId, attempts: 1, appliedAt: 100 });
    }
    await nextTurn();
  };

  it('sets the list of each machine that an order touches, and answers when all are settled', async () => {
    controller.handle([messageOf({ orderId: '4711', changedAt: 1, machines: ['M-1', 'M-2'] })]);
    expect(lists.map(({ list }) => [list.machineId, list.workingOrders()])).toEqual([
      ['M-1', ['4711']],
      ['M-2', ['4711']],
    ]);
    await nextTurn();
    expect({ published, finished }).toEqual({ published: [], finished: [] });
    await applyAll();
    expect(published).toMatchObject([[{ machineId: 'M-1' }, { machineId: 'M-2' }]]);
    expect(finished).toEqual([7]);
  });

  it('draws a list from the ledger when it is sent: it says all that later messages said', () => {
    controller.handle([
      messageOf({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 7),
      messageOf({ orderId: '4712', changedAt: 1, machines: ['M-1'] }, 8),
    ]);
    expect(lists.map(({ list }) => [list.cumulative, list.workingOrders()])).toEqual([
      [true, ['4711', '4712']],
      [true, ['4711', '4712']],
    ]);
  });

  it('answers a document of several orders with one outcome for each machine', async () => {
    const document = loiproOf([
      { orderId: '4711', changed: '20231128083400000000' },
      { orderId: '4711', changed: '20231127083400000000' },
      { orderId: '4712', changed: '20231128083400000000' },
    ]);
    controller.handle([messageOf(document)]);
    expect(lists).toHaveLength(1);
    await applyAll();
    expect(published).toEqual([
      [{ kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 100 }],
    ]);
    expect(finished).toEqual([7]);
  });

  it('reads where an order is done from the topic that its sender published it under', () => {
    const body = Buffer.from('{"external_work_order_id":"4711","quantity":1,"status":1}');
    const topic = 'umh.v1.acme.north.line-1.cell-2._analytics.work-order.create';
    controller.handle([messageOf(body, 7, { umh_topic: Buffer.from(topic) })]);
    expect(lists.map(({ list }) => list.machineId)).toEqual(['line-1.cell-2']);
  });

  it('rejects what is no whole order', async () => {
    controller.handle([messageOf(Buffer.from('{"JobOrder":{"ID":"4711","Command":"Hold"}}'))]);
    await nextTurn();
    expect(published).toMatchObject([[{ rejection: { code: 'invalid-message' } }]]);
    expect(finished).toEqual([7]);
  });

  it('answers an order that has changed since without a call', async () => {
    controller.handle([messageOf({ orderId: '4711', changedAt: 20, machines: ['M-1'] }, 7)]);
    await applyAll();
    controller.handle([messageOf({ orderId: '4711', changedAt: 10, machines: ['M-1'] }, 8)]);
    await nextTurn();
    expect(lists).toEqual([]);
    const detail = 'order 4711 changed at 10; known is the change of 20';
    expect(published.at(-1)).toEqual([
      { kind: 'superseded', machineId: 'M-1', attempts: 0, detail },
    ]);
    expect(finished).toEqual([7, 8]);
  });

  it('rejects the operations that have no machine, and sets the lists of the others', async () => {
    const mapped = EquipmentMap.of([{ plant: '1000', workCentre: 'FR01', machineId: 'M-1' }]);
    jest
      .spyOn(bridge.get(EquipmentMap), 'machineOf')
      .mockImplementation((operation) => mapped.machineOf(operation));
    controller.handle([messageOf({ orderId: '4711', changedAt: 1, machines: ['FR01', 'FR99'] })]);
    expect(lists.map(({ list }) => list.machineId)).toEqual(['M-1']);
    await applyAll();
    expect(published).toMatchObject([
      [
        { kind: 'rejected', machineId: null, rejection: { code: 'unmapped-work-centre' } },
        { kind: 'applied', machineId: 'M-1' },
      ],
    ]);
    expect(finished).toEqual([7]);
  });

  it('rejects what it cannot read, and takes the messages behind it', async () => {
    const messages = [
      messageOf(Buffer.from('{'), 7),
      messageOf({ orderId: '4711', changedAt: 1, machines: ['M-1'] }, 8),
    ];
    controller.handle(messages);
    await nextTurn();
    expect(published).toMatchObject([[{ kind: 'rejected', machineId: null, attempts: 0 }]]);
    expect(finished).toEqual([7]);
    await applyAll();
    expect(finished).toEqual([7, 8]);
    expect(failed).toEqual([]);
  });
});
