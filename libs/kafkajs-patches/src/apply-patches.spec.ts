import { createRequire } from 'node:module';
import './index.js';
import { applyPatches } from './apply-patches.js';
import { produceRequest } from './speed/produce-request.js';

const require = createRequire(import.meta.url);

describe('kafkajs, once it is loaded', () => {
  it('writes records and sends messages in our way', () => {
    const create = require('kafkajs/src/producer/sendMessages.js') as { name: string };
    expect(create.name).toBe('createSendMessages');
    expect(require('kafkajs/src/protocol/requests/produce/v3/request.js')).toBe(produceRequest);
  });

  it('is patched once only', () => {
    const path = 'kafkajs/src/consumer/consumerGroup.js';
    const before: unknown = require(path);
    applyPatches();
    expect(require(path)).toBe(before);
  });
});
