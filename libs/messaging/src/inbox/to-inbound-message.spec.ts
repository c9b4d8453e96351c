import { toInboundMessage } from './to-inbound-message.js';

const record = (headers: object) => ({
  key: null,
  value: Buffer.from('x'),
  timestamp: '1',
  attributes: 0,
  offset: '7',
  headers: headers as Record<string, Buffer>,
});

describe('toInboundMessage', () => {
  it('keeps headers as they came, bytes and repeated names included', () => {
    const headers = { a: Buffer.from([0, 255]), b: [Buffer.from('1'), Buffer.from('2')] };
    expect({ ...toInboundMessage('topic', 3, record(headers)).headers }).toEqual(headers);
  });

  it('makes a null value empty, which kafkajs can write', () => {
    const { headers } = toInboundMessage('topic', 3, record({ a: null, b: [null] }));
    expect({ ...headers }).toEqual({ a: Buffer.alloc(0), b: [Buffer.alloc(0)] });
  });

  it('drops what kafkajs has taken for a header because every object has it', () => {
    const inherited = { constructor: [Object, Buffer.from('x')], toString: [Buffer.from('y')] };
    const { headers } = toInboundMessage('topic', 3, record(inherited));
    expect({ ...headers }).toEqual({
      constructor: [Buffer.from('x')],
      toString: [Buffer.from('y')],
    });
  });
});
