import { withEnd } from './batch-end.js';
import { type CreateRequest, withoutCopies } from './create-request.js';
import { decodeBatch } from './decode-batch.js';
import { type DecodeMessages, withBatchesOfAnySize } from './decode-messages.js';
import { exchangeMember, exchangeModule } from './exchange-module.js';
import { type CreateManager, withKnownCoordinator } from './known-coordinator.js';
import { leanBatch } from './lean-batch.js';
import { type RecoveringGroupClass, withLeaderMoves } from './leader-moves.js';
import { produceRequest } from './produce-request.js';
import { parseProduced } from './produce-batches.js';
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
  // What the broker answers of each partition is for produceBatches to judge: kafkajs throws the first error alone.
  exchangeMember(`${protocol}/requests/produce/v3/response.js`, 'parse', parseProduced);
  exchangeModule<DecodeMessages>(
    `${protocol}/requests/fetch/v4/decodeMessages.js`,
    withBatchesOfAnySize(withEnd(decodeBatch)),
  );
  exchangeModule('kafkajs/src/producer/sendMessages.js', () => createSendMessages);
  exchangeModule('kafkajs/src/consumer/batch.js', leanBatch);
  exchangeModule<GroupClass & RecoveringGroupClass>(
    'kafkajs/src/consumer/consumerGroup.js',
    (Group) => withLeaderMoves(withWaitsByPauses(Group)),
  );
  exchangeModule<CreateManager>('kafkajs/src/producer/eosManager/index.js', withKnownCoordinator);
}
