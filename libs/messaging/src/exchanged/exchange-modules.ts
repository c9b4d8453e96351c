import { type DecodeBatch, withEnd } from './batch-end.js';
import { type CreateRequest, withoutCopies } from './create-request.js';
import { decodeRecord } from './decode-record.js';
import { exchangeModule } from './exchange-module.js';
import { groupMessages } from './group-messages.js';
import { produceRequest } from './produce-request.js';

/**
 * Exchanges what kafkajs does wrongly, or slowly for every record (decision 29). The modules before those
 * that use them: these keep what they found when they were loaded.
 *
 * @throws Error when kafkajs is not laid out as the pinned version is
 */
export function exchangeModules(): void {
  const protocol = 'kafkajs/src/protocol';
  exchangeModule(`${protocol}/recordBatch/record/v0/decoder.js`, () => decodeRecord);
  exchangeModule<DecodeBatch>(`${protocol}/recordBatch/v0/decoder.js`, withEnd);
  exchangeModule<CreateRequest>(`${protocol}/request.js`, withoutCopies);
  exchangeModule(`${protocol}/requests/produce/v3/request.js`, () => produceRequest);
  exchangeModule('kafkajs/src/producer/groupMessagesPerPartition.js', () => groupMessages);
}
