import { readFileSync } from 'node:fs';

import { readMessages, readSnapshots } from '../test/read-messages.js';
import { FORMATS, readOrderDocument } from './read-orders.js';

const ORDER = { orderId: '1', changedAt: 1, status: 'released', operations: [] };
const IDOC =
  '<LOIPRO05><IDOC><EDI_DC40><CREDAT>20240318</CREDAT></EDI_DC40>' +
  '<E1AFKOL><AUFNR>4711</AUFNR></E1AFKOL></IDOC></LOIPRO05>';
const EVENT = '{"specversion":"1.0","type":"s4.order","data":{"ProductionOrder":"4711"}}';

describe('an order document', () => {
  it.each([
    null,
    'application/json; charset=utf-8',
    'application/octet-stream',
    'application/vnd.machine-bridge.order+json',
  ])('is the canonical JSON with content type %s', (contentType) => {
    expect(readSnapshots(JSON.stringify(ORDER), { contentType })).toEqual([ORDER]);
  });

  it('is canonical JSON also with further fields of other formats', () => {
    const further = { ManufacturingOrder: '2', JobOrder: { ID: '3' }, external_work_order_id: '4' };

    expect(readSnapshots(JSON.stringify({ ...further, ...ORDER }))).toEqual([ORDER]);
  });

  it('in UTF-16 is recognised as XML by its first bytes', () => {
    for (const text of [IDOC, `\ufeff${IDOC}`]) {
      expect(readSnapshots(Buffer.from(text, 'utf16le'))[0]?.orderId).toBe('4711');
    }
  });

  it('of JSON in UTF-16 is refused as JSON in the wrong encoding', () => {
    const body = Buffer.from('\ufeff{"orderId": "4711"}', 'utf16le');
    const read = readOrderDocument({ contentType: null, body }, { timeZone: 'UTC' });

    expect(read).toMatchObject({
      rejection: { code: 'invalid-json', detail: 'the body is not valid UTF-8' },
    });
  });

  it('is recognised as XML after any number of blanks', () => {
    for (const blanks of [
      ' '.repeat(70),
      `\ufeff${'\r\n\t'.repeat(100)}`,
      '\n'.repeat(1_000_000),
    ]) {
      expect(readSnapshots(blanks + IDOC)[0]?.orderId).toBe('4711');
    }
    expect(() => readMessages(' '.repeat(1_000_000))).toThrow('invalid-json');
  });

  it('is read in the format that its content type names, in either syntax', () => {
    const contentType = 'Application/x-SAP.IDoc';

    expect(readSnapshots(IDOC, { contentType })[0]?.orderId).toBe('4711');
  });

  it.each([
    ['<LOIWCS03/>', null, 'XML root LOIWCS03 is not read; formats: order JSON, SAP LOIPRO01'],
    ['<Envelope><Body/></Envelope>', null, 'XML root Envelope is not read'],
    ['{}', 'application/avro', 'content type application/avro is not read'],
    ['{}', 'application/idoc+xml', 'not well-formed'],
    ['{}', 'application/x-sap.idoc', 'an IDoc is XML'],
    ['{}', 'application/vnd.machine-bridge.order+json', 'invalid-message: orderId is missing'],
    [IDOC, 'application/b2mml+xml', 'the root is none of B2MML'],
    ['{}', null, 'orderId is missing; formats: order JSON, SAP LOIPRO01'],
    ['[]', null, 'the message must be an object, not an array; formats: order JSON'],
    [IDOC, 'application/json', 'invalid-json'],
    [
      EVENT,
      null,
      'a CloudEvent with its data in it needs content type application/cloudevents+json',
    ],
  ])('of another kind is refused with what was found: %.30s as %s', (body, contentType, why) => {
    expect(() => readMessages(body, { contentType })).toThrow(why);
  });
});

describe('a JSON document without the field that its format is recognised by', () => {
  it.each([
    ['sap-odata-v4', 'ProductionOrder', 'SAP production orders of OData V4'],
    ['sap-odata', 'ManufacturingOrder', 'SAP OData production orders'],
    ['dynamics', 'ProductionOrderNumber', 'Dynamics 365 production orders'],
    ['oracle', 'WorkOrderNumber', 'Oracle Fusion work orders'],
    ['erpnext', 'doctype', 'ERPNext Work Order'],
    ['opc-job-order', 'JobOrderID', 'OPC UA job orders: StoreAndStart.JobOrder.JobOrderID'],
  ])('is refused as one of it, with the field: %s', (example, field, format) => {
    const document = readFileSync(`examples/orders/${example}.json`, 'utf8');
    const without = document.replaceAll(new RegExp(`"${field}": *"[^"]*",`, 'g'), '');

    expect(without).not.toBe(document);
    expect(() => readMessages(without)).toThrow(format);
    expect(() => readMessages(without)).toThrow(`${field} is missing`);
  });

  it.each([
    ['{"workcenter_id": 5}', 'Odoo manufacturing orders: production_id is missing'],
    ['[{"EquipmentRequirements": []}]', 'OPC UA job orders: JobOrderID is missing'],
    ['{"status": "released", "operations": []}', 'orderId is missing; formats:'],
  ])('is refused as one of it: %s', (document, why) => {
    expect(() => readMessages(document)).toThrow(why);
  });
});

describe('a document of a megabyte', () => {
  it('is recognised by its first record in bounded time', () => {
    const value = [{ a: 1 }, { a: 2 }];
    Object.defineProperty(value, 1, {
      get: () => {
        throw new Error('the second record was looked at');
      },
    });
    const recognising = FORMATS.filter((format) =>
      [value, { value }, { items: value }, { JobOrderList: value }].some(
        (json) => format.name.startsWith('B2MML') || format.recognises({ json }),
      ),
    );
    expect(recognising.map(({ name }) => name)).toEqual(['B2MML schedules and job orders']);
  });

  const fill = (part: (index: number) => string, start: string, end: string): string => {
    let text = start;
    for (let index = 0; text.length < 1_000_000; index += 1) text += part(index);
    return text + end;
  };
  const control = '<EDI_DC40><CREDAT>20240318</CREDAT></EDI_DC40>';

  it.each([
    [
      'job orders',
      fill(
        (id) => `<JobOrder><ID>${id}</ID><Command>Start</Command></JobOrder>`,
        '<WorkSchedule>',
        '</WorkSchedule>',
      ),
    ],
    [
      'orders of one IDoc',
      fill(
        (id) => `<E1AFKOL><AUFNR>${id + 1}</AUFNR></E1AFKOL>`,
        `<LOIPRO05><IDOC>${control}`,
        '</IDOC></LOIPRO05>',
      ),
    ],
    [
      'entities',
      fill(
        (id) => `{"ManufacturingOrder":"${id + 1}"},`,
        '{"value":[',
        '{"ManufacturingOrder":"1"}]}',
      ),
    ],
  ])('costs as much as its size, not its square: %s', (_name, body) => {
    const before = process.cpuUsage();

    expect(() => readMessages(body, { recordedAt: 1 })).toThrow('too-large: the document holds');
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(5_000);
  });
});

describe('hostile JSON', () => {
  const withOperation = (operation: string): string =>
    `{"orderId":"1","changedAt":1,"status":"released","operations":[${operation}]}`;

  it.each([
    ['depth', '{"ManufacturingOrder":'.repeat(70) + '1' + '}'.repeat(70), 'nested deeper than 64'],
    ['a prototype for an order', '{"__proto__":{"orderId":"1"}}', 'orderId is missing'],
    [
      'a prototype for an operation',
      withOperation('{"__proto__":{"operationId":"1","machineId":"M"}}'),
      'operations[0].operationId is missing',
    ],
    ['a prototype for an entity', '{"d":{"__proto__":{"ManufacturingOrder":"1"}}}', 'orderId is'],
    ['a huge number', '{"orderId":"1","changedAt":1e400,"status":"released"}', 'changedAt must be'],
    ['half a pair', '{"orderId":"\\ud800","changedAt":1,"status":"held"}', 'broken text'],
    [
      'half a pair for a B2MML ID',
      '{"JobOrder":{"ID":"\\udfff","Command":"Start"}}',
      'broken text',
    ],
    ['a NUL', '{"external_work_order_id":"\\u0000","end_time_unix_ms":1000}', 'control characters'],
    [
      'an entity that is a list of lists',
      '{"value":[[[{"ManufacturingOrder":"1"}]]]}',
      'orderId is',
    ],
    [
      'an order number without end',
      `{"ManufacturingOrder":"${'9'.repeat(900_000)}"}`,
      'longer than',
    ],
    [
      'a date without end',
      `{"JobOrder":{"ID":"1","StartTime":"${'9'.repeat(900_000)}"}}`,
      'xs:dateT',
    ],
  ])('is refused: %s', (_name, body, complaint) => {
    expect(() => readMessages(body, { recordedAt: 1 })).toThrow(complaint);
  });
});
