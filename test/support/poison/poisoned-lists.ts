import { poisonOn, type PoisonMessage } from './poison-message.js';

const poison = poisonOn('lists');

export const POISONED_LISTS: readonly PoisonMessage[] = [
  poison('no machineId', 'invalid-message', '{"workingOrders":["1"]}'),
  poison('no list', 'invalid-message', '{"machineId":"M-001"}'),
  poison('null as list', 'invalid-message', '{"machineId":"M-001","workingOrders":null}'),
  poison('a text as list', 'invalid-message', '{"machineId":"M-001","workingOrders":"1"}'),
  poison('a number in the list', 'invalid-message', '{"machineId":"M-001","workingOrders":[1]}'),
  poison('a number as machineId', 'invalid-message', '{"machineId":7,"workingOrders":[]}'),
  poison(
    'a NUL in the machineId',
    'invalid-message',
    '{"machineId":"M\\u0000","workingOrders":[]}',
  ),
  poison(
    'half a surrogate pair',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":["\\ud800"]}',
  ),
  poison(
    'a machineId of 257 characters',
    'invalid-message',
    JSON.stringify({ machineId: 'M'.repeat(257), workingOrders: [] }),
  ),
  poison(
    '10,001 orders',
    'too-large',
    JSON.stringify({ machineId: 'M-001', workingOrders: Array<string>(10_001).fill('1') }),
  ),
  poison('no machine at all', 'invalid-message', '{"machines":[]}'),
  poison('machines as an object', 'invalid-message', '{"machines":{"M-001":["1"]}}'),
  poison('only unreadable machines', 'invalid-message', '{"machines":[null,{},[],"M-001"]}'),
  poison(
    'both shapes at once',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":[],"machines":[{"machineId":"M-001","workingOrders":["1"]}]}',
  ),
  poison(
    'issuedAt in milliseconds',
    'invalid-message',
    '{"machineId":"M-001","workingOrders":[],"issuedAt":1763680000000}',
  ),
];
