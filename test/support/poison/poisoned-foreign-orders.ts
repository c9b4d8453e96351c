import { poisonOn, type PoisonMessage } from './poison-message.js';

const poison = poisonOn('orders');
const XML = { 'content-type': 'application/xml' };

const idoc = (order: string, control = '<SERIAL>20231128083400705437</SERIAL>'): string =>
  `<LOIPRO05><IDOC><EDI_DC40>${control}</EDI_DC40>${order}</IDOC></LOIPRO05>`;

/** Invalid orders in the format of an ERP, or nearly so. */
export const POISONED_FOREIGN_ORDERS: readonly PoisonMessage[] = [
  poison('an unknown XML root', 'invalid-message', '<LOIWCS03><IDOC/></LOIWCS03>', XML),
  poison('XML cut off', 'invalid-message', '<LOIPRO05><IDOC><E1AFKOL><AUFNR>1</AUF', XML),
  poison(
    'entities that grow',
    'invalid-message',
    '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><LOIPRO05>&b;</LOIPRO05>',
    XML,
  ),
  poison(
    'an entity that reads a file',
    'invalid-message',
    '<!DOCTYPE l [<!ENTITY f SYSTEM "file:///etc/hostname">]><LOIPRO05>&f;</LOIPRO05>',
    XML,
  ),
  poison(
    'XML nested too deep',
    'invalid-message',
    '<a>'.repeat(60_000) + '</a>'.repeat(60_000),
    XML,
  ),
  poison('an IDoc without an order', 'invalid-message', idoc(''), XML),
  poison(
    'an IDoc without AUFNR',
    'invalid-message',
    idoc('<E1AFKOL><WERKS>1</WERKS></E1AFKOL>'),
    XML,
  ),
  poison(
    'an IDoc operation without a number',
    'invalid-message',
    idoc(
      '<E1AFKOL><AUFNR>1</AUFNR><E1AFFLL><E1AFVOL><ARBPL>FR01</ARBPL></E1AFVOL></E1AFFLL></E1AFKOL>',
    ),
  ),
  poison(
    'B2MML in a state that is none',
    'invalid-message',
    '<JobOrder><ID>1</ID><DispatchStatus>Runing</DispatchStatus></JobOrder>',
    XML,
  ),
  poison('two XML roots', 'invalid-message', '<LOIPRO05/><LOIPRO05/>', XML),
  poison('a NUL in XML', 'invalid-message', idoc('<E1AFKOL>\u0000</E1AFKOL>'), XML),
  poison('a content type of another format', 'invalid-message', idoc(''), {
    'content-type': 'application/b2mml+xml',
  }),
  poison('OData without an order number', 'invalid-message', '{"ManufacturingOrder":""}'),
  poison(
    'an OData operation without a work centre',
    'invalid-message',
    '{"value":[{"ManufacturingOrder":"1","ManufacturingOrderOperation":"0010"}]}',
  ),
  poison('an event of S/4HANA', 'invalid-message', '{"ProductionOrder":"1000234"}'),
  poison(
    'a business event of Dynamics 365',
    'invalid-message',
    '{"BusinessEventId":"ProductionOrderReleasedBusinessEvent","ProductionOrderNumber":"P1"}',
  ),
  poison('an event of Oracle', 'invalid-message', '{"WorkOrderNumber":"1","EventType":"CREATE"}'),
  poison(
    'a manufacturing order of Odoo in a state that is none',
    'invalid-message',
    '{"_model":"mrp.production","_id":1,"name":"WH/MO/1","state":"paused"}',
  ),
  poison('a work order of ERPNext without a name', 'invalid-message', '{"doctype":"Work Order"}'),
  poison(
    'an OPC job order without an id',
    'invalid-message',
    '{"StoreAndStart":{"JobOrder":{"ID":"1"}}}',
  ),
  poison('a job order without an ID', 'invalid-message', '<JobOrder/>', XML),
  poison(
    'a job order without equipment and status',
    'invalid-message',
    '{"WorkSchedule":{"PublishedDate":"2024-03-18T09:15:02Z","JobOrder":[{"ID":"1"}]}}',
  ),
  poison(
    'a UMH work order that is created nowhere',
    'invalid-message',
    '{"external_work_order_id":"1","product":{},"start_time_unix_ms":1719931704927}',
  ),
];
