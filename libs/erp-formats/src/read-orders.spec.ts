import { BoundedExpressions } from '#libs/expressions';
import { ORDER_STATUSES } from '#libs/contracts';
import { OrderMapping } from './mapping/order-mapping.js';
import { readOrders } from './read-orders.js';
import { statusWithin } from './document/status-within.js';

const MAX_SKEW_SECONDS = 300;
/** 2024-03-18T09:15:02Z. */
const CHANGED_AT = 1_710_753_302;

/** One order in each format, all changed at the same time. */
const DOCUMENTS = {
  'our own': JSON.stringify({
    orderId: '1',
    changedAt: CHANGED_AT,
    status: 'released',
    operations: [],
  }),
  'an IDoc': `<LOIPRO01><IDOC><EDI_DC40 SEGMENT="1"><DOCNUM>7</DOCNUM><CREDAT>20240318</CREDAT>
    <CRETIM>091502</CRETIM></EDI_DC40><E1AFKOL SEGMENT="1"><AUFNR>1</AUFNR><STATUS>REL</STATUS>
    </E1AFKOL></IDOC></LOIPRO01>`,
  OData: JSON.stringify({
    ManufacturingOrder: '1',
    OrderIsReleased: 'X',
    LastChangeDateTime: '20240318091502',
  }),
  B2MML: `<SyncWorkSchedule xmlns="http://www.mesa.org/xml/B2MML">
    <ApplicationArea><CreationDateTime>2024-03-18T09:15:02Z</CreationDateTime></ApplicationArea>
    <DataArea><Sync/><WorkSchedule><ScheduleState>Released</ScheduleState><WorkRequest><ID>WR</ID>
    <JobOrder><ID>1</ID><EquipmentRequirement><EquipmentID>MILL</EquipmentID></EquipmentRequirement>
    </JobOrder></WorkRequest></WorkSchedule></DataArea></SyncWorkSchedule>`,
  'UMH, which the record dates': JSON.stringify({
    external_work_order_id: '1',
    start_time_unix_ms: (CHANGED_AT - 60) * 1000,
  }),
};
/** A format without an adapter, and the expression for it. */
const MAPPED = {
  contentType: 'application/vnd.acme.job+json',
  text: JSON.stringify({ no: '1', at: CHANGED_AT }),
  mapping: [
    {
      name: 'acme',
      contentType: 'application/vnd.acme.job+json',
      expression: '{"orderId": no, "changedAt": at, "status": "released", "operations": []}',
    },
  ],
};
const UMH_TOPIC = 'umh.v1.acme.north._analytics.work-order.start';

describe('a document of an ERP', () => {
  const options = { timeZone: 'UTC', commandMaxSkewSeconds: MAX_SKEW_SECONDS };
  const mapping = new OrderMapping(MAPPED.mapping, new BoundedExpressions());

  afterAll(() => {
    mapping.closeExpressions();
  });

  it.each([
    ...Object.entries(DOCUMENTS).map(([format, text]) => [format, null, text] as const),
    ['one that an expression reads', MAPPED.contentType, MAPPED.text] as const,
  ])('is refused where no clock can have dated it yet: %s', async (_, contentType, text) => {
    const document = {
      ...{ contentType, body: Buffer.from(text) },
      ...{ sourceTopic: UMH_TOPIC, recordedAt: CHANGED_AT },
    };
    const read = (nowSeconds: number) => readOrders(document, options, mapping, nowSeconds);
    expect(await read(CHANGED_AT - MAX_SKEW_SECONDS)).toMatchObject({ ok: true });
    expect(await read(CHANGED_AT - MAX_SKEW_SECONDS - 1)).toMatchObject({
      ok: false,
      rejection: {
        code: 'invalid-message',
        detail: `changedAt of order 1: ${CHANGED_AT} (2024-03-18T09:15:02Z) lies more than 300 s ahead of the clock`,
      },
    });
  });

  it('is refused with an order in parts, but not with two versions of an order', () => {
    const read = (...orders: { at?: string; operations: [id: string, place: string][] }[]) => {
      const value = orders.map(({ at = '2024-03-18T09:15:02Z', operations }) => ({
        ...{ ManufacturingOrder: '1', LastChangeDateTime: at, OrderIsReleased: 'X' },
        to_ProductionOrderOperation: operations.map(([id, place]) => ({
          ...{ ManufacturingOrderOperation: id, WorkCenter: place },
        })),
      }));
      const body = Buffer.from(JSON.stringify({ value }));
      return readOrders({ contentType: null, body }, options, mapping, CHANGED_AT);
    };
    expect(read({ operations: [['10', 'A']] }, { operations: [['20', 'B']] })).toMatchObject({
      rejection: {
        code: 'invalid-message',
        detail: expect.stringContaining('order 1 several') as string,
      },
    });
    const before = '2024-03-18T09:15:01Z';
    for (const second of [[['10', 'B']], [['20', 'B']], []] as [string, string][][]) {
      const isLater = second[0]?.[0] === '20';
      const first = {
        operations: [['10', 'A']] as [string, string][],
        ...(isLater && { at: before }),
      };
      expect(read(first, { operations: second })).toMatchObject({ ok: true });
    }
  });
});

describe('the status of an operation within its order', () => {
  const ALL = ORDER_STATUSES.join(' ');

  it.each([
    ['cancelled', 'cancelled cancelled cancelled cancelled cancelled cancelled'],
    ['completed', 'completed completed completed completed completed cancelled'],
    ['held', 'planned held held held completed cancelled'],
    ['planned', ALL],
    ['released', ALL],
    ['started', ALL],
  ] as const)(`turns ${ALL} in an order that is %s into %s`, (order, expected) => {
    expect(ORDER_STATUSES.map((each) => statusWithin(order, each)).join(' ')).toBe(expected);
  });
});
