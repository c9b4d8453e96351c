import { poisonOn, type PoisonMessage } from './poison-message.js';

const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=UTF-8' };

/** Messages that are invalid on every topic. */
export const POISONED_ENVELOPES: readonly PoisonMessage[] = (
  ['lists', 'reasons', 'orders'] as const
).flatMap((topic) => {
  const poison = poisonOn(topic);
  return [
    poison('no value', 'invalid-json', null),
    poison('an empty value', 'invalid-json', ''),
    poison('white space', 'invalid-json', ' \r\n\t'),
    poison('not UTF-8', 'invalid-json', Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d])),
    poison('JSON cut off', 'invalid-json', '{"machineId":"M-001","worki'),
    poison('zero bytes', 'invalid-json', Buffer.alloc(64)),
    poison('nine hundred thousand brackets', 'invalid-json', '['.repeat(900_000)),
    poison(
      'nested a hundred thousand deep',
      'invalid-message',
      '['.repeat(100_000) + ']'.repeat(100_000),
    ),
    poison('JSON null', 'invalid-message', 'null'),
    poison('a number beyond any', 'invalid-message', '1e999999'),
    poison(
      'a key twice',
      'invalid-message',
      '{"machineId":"M-001","workingOrders":[],"reasonId":"22","startTime":1763680000,"machineId":"M-002"}',
    ),
    poison('an array', 'invalid-message', '[{"machineId":"M-001","workingOrders":[]}]'),
    poison('nothing but a prototype', 'invalid-message', '{"__proto__":{"machineId":"M-001"}}'),
    poison(
      'a structured event without an id',
      'invalid-message',
      '{"specversion":"1.0"}',
      STRUCTURED,
    ),
    poison('a structured event that is no JSON', 'invalid-json', '<event/>', STRUCTURED),
    poison('a header named like what every object has', 'invalid-json', '{', { constructor: 'x' }),
  ];
});
