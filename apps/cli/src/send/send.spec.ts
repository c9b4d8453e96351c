import { TOPICS } from '#libs/contracts';
import { identifyDocument } from './send.js';

describe('a file to send', () => {
  const order = (ManufacturingOrder: string) => ({ ManufacturingOrder, OrderIsReleased: 'X' });
  const identify = (...orders: object[]) =>
    identifyDocument(Buffer.from(JSON.stringify({ d: { results: orders } })));

  it('is keyed by its first order', () => {
    expect(identify(order('5'), order('7'))).toMatchObject({ key: '5' });
  });

  const identifyText = (text: string) => identifyDocument(Buffer.from(text));

  it('may begin with a byte order mark', () => {
    const list = '\ufeff{"machineId": "M-1", "workingOrders": []}';
    const contentType = 'application/json';

    expect(identifyText(list)).toEqual({ topic: TOPICS.workOrderLists, key: 'M-1', contentType });
  });

  it('is an order that is cancelled for a reason, and a reason that names its order', () => {
    const cancelled = { orderId: 'A-17', changedAt: 1, status: 'cancelled', reason: 'no steel' };
    const reason = { machineId: 'M-1', reasonId: '22', orderId: 'A-17' };

    expect(identifyText(JSON.stringify(cancelled)).topic).toBe(TOPICS.workOrders);
    expect(identifyText(JSON.stringify(reason)).topic).toBe(TOPICS.downtimeReasons);
  });

  it.each([
    ['', 'the body is empty'],
    ['{"orderId": "A-17",}', 'not valid JSON at character 19'],
    ['<LOIPRO05><IDOC></LOIPRO05>', 'the XML is not well-formed'],
  ])('that holds %j is refused: %s', (text, why) => {
    expect(() => identifyText(text)).toThrow(why);
    expect(() => identifyText(text)).toThrow('--topic');
  });
});
