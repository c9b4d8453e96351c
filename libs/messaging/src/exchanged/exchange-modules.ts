import { withEnd } from './batch-end.js';
import { type CreateRequest, withoutCopies } from './create-request.js';
import { decodeBatch } from './decode-batch.js';
import { type DecodeMessages, withBatchesOfAnySize } from './decode-messages.js';
import { exchangeModule } from './exchange-module.js';
import { type CreateManager, withKnownCoordinator } from './known-coordinator.js';
import { leanBatch } from './lean-batch.js';
import { produceRequest } from './produce-request.js';
import { createSendMessages } from './send-messages.js';
import { type GroupClass, withWaitsByPauses } from './waits-by-pauses.js';

/**
 * Exchanges what kafkajs does wrongly, or slowly for every record (decision 29). Must be done before any other
 * of its modules is loaded: these keep what they found then.
 *
 * @throws Error when kafkajs is not laid out as the pinned version is
 */
export function exchangeModules(): void {
  const protocol = 'kafkajs/src/protocol';
  exchangeModule<CreateRequest>(`${protocol}/request.js`, withoutCopies);
  exchangeModule(`${protocol}/requests/produce/v3/request.js`, () => produceRequest);
  exchangeModule<DecodeMessages>(
    `${protocol}/requests/fetch/v4/decodeMessages.js`,
    withBatchesOfAnySize(withEnd(decodeBatch)),
  );
  exchangeModule('kafkajs/src/producer/sendMessages.js', () => createSendMessages);
  exchangeModule('kafkajs/src/consumer/batch.js', leanBatch);
  exchangeModule<GroupClass>('kafkajs/src/consumer/consumerGroup.js', withWaitsByPauses);
  exchangeModule<CreateManager>('kafkajs/src/producer/eosManager/index.js', withKnownCoordinator);
}
