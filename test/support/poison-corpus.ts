import type { RejectionCode } from '#libs/contracts';

/** A message that no correct bridge applies, and the code of the dead letter it ends as. */
export interface PoisonMessage {
  name: string;
  topic: 'lists' | 'reasons' | 'orders';
  key: string | null;
  value: Buffer | null;
  headers?: Record<string, string>;
  expectedCode: RejectionCode;
}

type Topic = PoisonMessage['topic'];

function poison(
  topic: Topic,
  name: string,
  expectedCode: RejectionCode,
  value: Buffer | string | null,
  headers?: Record<string, string>,
): PoisonMessage {
  const message = {
    name: `${topic}: ${name}`,
    topic,
    key: 'M-001',
    value: typeof value === 'string' ? Buffer.from(value, 'utf8') : value,
    expectedCode,
  };
  return headers === undefined ? message : { ...message, headers };
}

const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=UTF-8' };
const XML = { 'content-type': 'application/xml' };
const REASON = { machineId: 'M-001', reasonId: '22', startTime: 1763680000 };
const ORDER = { orderId: '4711', changedAt: 1763680000, status: 'released' };

const reason = (change: object): string => JSON.stringify({ ...REASON, ...change });
const order = (...operations: unknown[]): string => JSON.stringify({ ...ORDER, operations });
const idoc = (order: string, control = '<SERIAL>20231128083400705437</SERIAL>'): string =>
  `<LOIPRO05><IDOC><EDI_DC40>${control}</EDI_DC40>${order}</IDOC></LOIPRO05>`;

const unreadable: readonly PoisonMessage[] = (['lists', 'reasons', 'orders'] as const).flatMap(
  (topic) => [
    poison(topic, 'no value', 'invalid-json', null),
    poison(topic, 'an empty value', 'invalid-json', ''),
    poison(topic, 'white space', 'invalid-json', ' \r\n\t'),
    poison(topic, 'not UTF-8', 'invalid-json', Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d])),
    poison(topic, 'JSON cut off', 'invalid-json', '{"machineId":"M-001","worki'),
    poison(topic, 'zero bytes', 'invalid-json', Buffer.alloc(64)),
    poison(topic, 'nine hundred thousand brackets', 'invalid-json', '['.repeat(900_000)),
    poison(
      topic,
      'nested a hundred thousand deep',
      'invalid-message',
      '['.repeat(100_000) + ']'.repeat(100_000),
    ),
    poison(topic, 'JSON null', 'invalid-message', 'null'),
    poison(topic, 'a number beyond any', 'invalid-message', '1e999999'),
    poison(topic, 'an array', 'invalid-message', '[{"machineId":"M-001","workingOrders":[]}]'),
    poison(
      topic,
      'nothing but a prototype',
      'invalid-message',
      '{"__proto__":{"machineId":"M-001"}}',
    ),
    poison(topic, 'a structured event without an id', 'invalid-message', '{"specversion":"1.0"}', {
      ...STRUCTURED,
    }),
    poison(topic, 'a structured event that is no JSON', 'invalid-json', '<event/>', STRUCTURED),
  ],
);

const lists: readonly PoisonMessage[] = [
  poison('lists', 'no machineId', 'invalid-message', '{"workingOrders":["1"]}'),
  poison('lists', 'no list', 'invalid-message', '{"machineId":"M-001"}'),
  poison('lists', 'null as list', 'invalid-message', '{"machineId":"M-001","workingOrders":null}'),
  poison('lists', 'a text as list', 'invalid-message', '{"machineId":"M-001","workingOrders":"1"}'),
  poison(
    'lists',
    'a number in the list',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":[1]}',
  ),
  poison('lists', 'a number as machineId', 'invalid-message', '{"machineId":7,"workingOrders":[]}'),
  poison(
    'lists',
    'a NUL in the machineId',
    'invalid-message',
    '{"machineId":"M\\u0000","workingOrders":[]}',
  ),
  poison(
    'lists',
    'half a surrogate pair',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":["\\ud800"]}',
  ),
  poison(
    'lists',
    'a machineId of 257 characters',
    'invalid-message',
    JSON.stringify({ machineId: 'M'.repeat(257), workingOrders: [] }),
  ),
  poison(
    'lists',
    '10,001 orders',
    'too-large',
    JSON.stringify({ machineId: 'M-001', workingOrders: Array<string>(10_001).fill('1') }),
  ),
  poison('lists', 'no machine at all', 'invalid-message', '{"machines":[]}'),
  poison('lists', 'machines as an object', 'invalid-message', '{"machines":{"M-001":["1"]}}'),
  poison(
    'lists',
    'only unreadable machines',
    'invalid-message',
    '{"machines":[null,{},[],"M-001"]}',
  ),
  poison(
    'lists',
    'both shapes at once',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":[],"machines":[{"machineId":"M-001","workingOrders":["1"]}]}',
  ),
  poison(
    'lists',
    'issuedAt in milliseconds',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":[],"issuedAt":1763680000000}',
  ),
];

const reasons: readonly PoisonMessage[] = [
  poison('reasons', 'no times', 'missing-times', '{"machineId":"M-001","reasonId":"22"}'),
  poison(
    'reasons',
    'only an end',
    'missing-times',
    reason({ startTime: null, endTime: 1763680600 }),
  ),
  poison('reasons', 'an end before the start', 'start-after-end', reason({ endTime: 1763679999 })),
  poison(
    'reasons',
    'a start in milliseconds',
    'invalid-message',
    reason({ startTime: 1763680000000 }),
  ),
  poison(
    'reasons',
    'a start without offset',
    'invalid-message',
    reason({ startTime: '2025-11-20T23:06:40' }),
  ),
  poison(
    'reasons',
    'a day that is none',
    'invalid-message',
    reason({ startTime: '2025-02-30T00:00:00Z' }),
  ),
  poison('reasons', 'half a second', 'invalid-message', reason({ startTime: 1763680000.5 })),
  poison('reasons', 'a start before 1970', 'invalid-message', reason({ startTime: -1 })),
  poison('reasons', 'an object as end', 'invalid-message', reason({ endTime: {} })),
  poison(
    'reasons',
    'a start in the year 3000',
    'start-in-future',
    reason({ startTime: 32503680000 }),
  ),
  poison('reasons', 'no reason', 'invalid-message', reason({ reasonId: '' })),
  poison('reasons', 'two different reasons', 'invalid-message', reason({ reason: '23' })),
  poison('reasons', 'a number as reason', 'invalid-message', reason({ reasonId: 22 })),
];

const orders: readonly PoisonMessage[] = [
  poison('orders', 'no operations', 'invalid-message', JSON.stringify(ORDER)),
  poison(
    'orders',
    'an unknown status',
    'invalid-message',
    '{"orderId":"1","changedAt":1,"status":"REL","operations":[]}',
  ),
  poison(
    'orders',
    'no changedAt',
    'invalid-message',
    '{"orderId":"1","status":"released","operations":[]}',
  ),
  poison('orders', 'an operation that is null', 'invalid-message', order(null)),
  poison('orders', 'an operation nowhere', 'invalid-message', order({ operationId: '0010' })),
  poison(
    'orders',
    'one operation twice',
    'invalid-message',
    order({ operationId: '0010', machineId: 'M-001' }, { operationId: '0010', machineId: 'M-002' }),
  ),
  poison('orders', 'a content type nobody reads', 'invalid-message', '{}', {
    'content-type': 'application/avro',
  }),
  poison('orders', 'an unknown XML root', 'invalid-message', '<LOIWCS03><IDOC/></LOIWCS03>', XML),
  poison('orders', 'XML cut off', 'invalid-message', '<LOIPRO05><IDOC><E1AFKOL><AUFNR>1</AUF', XML),
  poison(
    'orders',
    'entities that grow',
    'invalid-message',
    '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><LOIPRO05>&b;</LOIPRO05>',
    XML,
  ),
  poison(
    'orders',
    'an entity that reads a file',
    'invalid-message',
    '<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/hostname">]><LOIPRO05>&f;</LOIPRO05>',
    XML,
  ),
  poison(
    'orders',
    'XML nested too deep',
    'invalid-message',
    '<a>'.repeat(60_000) + '</a>'.repeat(60_000),
    XML,
  ),
  poison('orders', 'an IDoc without an order', 'invalid-message', idoc(''), XML),
  poison(
    'orders',
    'an IDoc without AUFNR',
    'invalid-message',
    idoc('<E1AFKOL><WERKS>1</WERKS></E1AFKOL>'),
    XML,
  ),
  poison(
    'orders',
    'an IDoc operation without a number',
    'invalid-message',
    idoc(
      '<E1AFKOL><AUFNR>1</AUFNR><E1AFFLL><E1AFVOL><ARBPL>FR01</ARBPL></E1AFVOL></E1AFFLL></E1AFKOL>',
    ),
  ),
];

const foreignOrders: readonly PoisonMessage[] = [
  poison(
    'orders',
    'B2MML in a state that is none',
    'invalid-message',
    '<JobOrder><ID>1</ID><DispatchStatus>Runing</DispatchStatus></JobOrder>',
    XML,
  ),
  poison('orders', 'two XML roots', 'invalid-message', '<LOIPRO05/><LOIPRO05/>', XML),
  poison('orders', 'a NUL in XML', 'invalid-message', idoc('<E1AFKOL>\u0000</E1AFKOL>'), XML),
  poison('orders', 'a content type of another format', 'invalid-message', idoc(''), {
    'content-type': 'application/b2mml+xml',
  }),
  poison('orders', 'OData without an order number', 'invalid-message', '{"ManufacturingOrder":""}'),
  poison(
    'orders',
    'an OData operation without a work centre',
    'invalid-message',
    '{"value":[{"ManufacturingOrder":"1","ManufacturingOrderOperation":"0010"}]}',
  ),
  poison('orders', 'a job order without an ID', 'invalid-message', '<JobOrder/>', XML),
  poison(
    'orders',
    'a job order without equipment and status',
    'invalid-message',
    '{"WorkSchedule":{"PublishedDate":"2024-03-18T09:15:02Z","JobOrder":[{"ID":"1"}]}}',
  ),
  poison(
    'orders',
    'a UMH work order that is created nowhere',
    'invalid-message',
    '{"external_work_order_id":"1","product":{},"start_time_unix_ms":1719931704927}',
  ),
];

/** Fits a broker's default message size; each is dead-lettered byte for byte, and nothing dies of it. */
export const POISON_CORPUS: readonly PoisonMessage[] = [
  ...unreadable,
  ...lists,
  ...reasons,
  ...orders,
  ...foreignOrders,
];
