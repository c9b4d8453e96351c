import { isSigned } from './callback-receiver.js';

/** The key with which the libraries of Standard Webhooks test their signatures. */
const KEY = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const CALL = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  headers: {
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
  body: '{"test": 2432232314}',
  isAnswered: true,
};

describe('the signature of a callback', () => {
  it('is verified as Standard Webhooks specifies', () => {
    expect(isSigned(CALL, KEY)).toBe(true);
  });

  it.each([
    ['another body', { ...CALL, body: '{"test": 2432232315}' }],
    ['another id', { ...CALL, id: 'msg_p5jXN8AQM9LWM0D4loKWxJel' }],
    ['another time', { ...CALL, headers: { ...CALL.headers, 'webhook-timestamp': '1614265331' } }],
  ])('is not that of %s', (_what, call) => {
    expect(isSigned(call, KEY)).toBe(false);
  });
});
