import { identifyDocument } from './identify-document.js';

describe('a file to send', () => {
  const order = (ManufacturingOrder: string) => ({ ManufacturingOrder, OrderIsReleased: 'X' });
  const identify = (...orders: object[]) =>
    identifyDocument(Buffer.from(JSON.stringify({ d: { results: orders } })), 'UTC');

  it('is keyed by its first order', () => {
    expect(identify(order('5'), order('7'))).toMatchObject({ key: '5' });
  });
});
