import { jest } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { loadBridgeSettings } from '#libs/config';
import { type InboundMessage } from '#libs/messaging';
import { CommandOutcomes, type CommandResult } from '../command-delivery/index.js';
import { PlatformModule } from '../platform/index.js';
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

interface Idoc {
  orderId: string;
  /** `SERIAL`: when the order changed. */
  changed: string;
}

/** A document of several orders, each with one operation at work centre M-1. */
function documentOf(idocs: readonly Idoc[]): Buffer {
  const bodies = idocs.map(
    ({ orderId, changed }) =>
      `<IDOC><EDI_DC40><SERIAL>${changed}</SERIAL></EDI_DC40><E1AFKOL><AUFNR>${orderId}</AUFNR>` +
      '<WERKS>1000</WERKS><E1JSTKL><STAT>I0002</STAT></E1JSTKL><E1AFFLL><PLNFL>0</PLNFL>' +
      '<E1AFVOL><VORNR>0010</VORNR><ARBPL>M-1</ARBPL></E1AFVOL></E1AFFLL></E1AFKOL></IDOC>',
  );
  return Buffer.from(`<LOIPRO01>${bodies.join('')}</LOIPRO01>`);
}

function messageOf(value: Buffer): InboundMessage {
  const { signal } = new AbortController();
  const place = { topic: 'erp.work-orders.v1', partition: 0, offset: 7, timestamp: '0' };
  return { ...place, key: null, value, headers: {}, signal };
}

describe('WorkOrdersController', () => {
  let bridge: INestApplicationContext;
  let published: readonly CommandResult[];

  beforeAll(async () => {
    bridge = await NestFactory.createApplicationContext(WorkOrdersAlone, { logger: false });
    jest
      .spyOn(bridge.get(WorkOrderLists), 'set')
      .mockImplementation(({ machineId }) =>
        Promise.resolve({ kind: 'applied', machineId, attempts: 1, appliedAt: 100 }),
      );
    jest.spyOn(bridge.get(CommandOutcomes), 'publish').mockImplementation((_, __, results) => {
      published = results;
      return Promise.resolve();
    });
  });

  afterAll(async () => {
    jest.restoreAllMocks();
    await bridge.close();
  });

  it('answers a document of several orders with one outcome for each machine', async () => {
    const document = documentOf([
      { orderId: '4711', changed: '20231128083400000000' },
      { orderId: '4711', changed: '20231127083400000000' },
      { orderId: '4712', changed: '20231128083400000000' },
    ]);
    await bridge.get(WorkOrdersController).handle(messageOf(document));
    expect(published).toEqual([{ kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 100 }]);
  });
});
