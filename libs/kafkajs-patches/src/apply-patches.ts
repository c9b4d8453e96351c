import { type DecodeMessages, withBatchesOfAnySize } from './fixes/decode-messages.js';
import { committedBatch } from './fixes/fetched-batch.js';
import { type RecoveringGroupClass, withLeaderMoves } from './fixes/leader-moves.js';
import { parseProduced } from './fixes/produce-batches.js';
import { type RequestQueueClass, withoutIdleTimers } from './fixes/request-queue.js';
import { createSendMessages } from './fixes/send-messages.js';
import { type CreateSocketFactory, unreferencedOnce } from './fixes/socket-factory.js';
import { assertVersion, patchMember, patchModule } from './patch-module.js';
import { type CreateManager, withCachedCoordinator } from './speed/cached-coordinator.js';
import { produceRequest } from './speed/produce-request.js';
import { type GroupClass, withAdaptiveMaxWait } from './speed/adaptive-max-wait.js';

const PROTOCOL = 'kafkajs/src/protocol/requests';
const CONSUMER_GROUP = 'kafkajs/src/consumer/consumerGroup.js';

/**
 * Replaces what kafkajs does wrongly, or slowly: the README of this lib has each patch, and why. Must be done before any
 * other module of kafkajs is loaded: these keep what they found then.
 *
 * @throws Error when kafkajs is not the version that the patches are made for
 */
export function applyPatches(): void {
  assertVersion();
  patchModule<DecodeMessages>(`${PROTOCOL}/fetch/v4/decodeMessages.js`, withBatchesOfAnySize);
  patchModule('kafkajs/src/consumer/batch.js', committedBatch);
  // What the broker answers of each partition is for produceBatches to judge: kafkajs throws the first error alone.
  patchMember(`${PROTOCOL}/produce/v3/response.js`, 'parse', parseProduced);
  patchModule('kafkajs/src/producer/sendMessages.js', () => createSendMessages);
  patchModule<RequestQueueClass>('kafkajs/src/network/requestQueue/index.js', withoutIdleTimers);
  patchModule<CreateSocketFactory>('kafkajs/src/network/socketFactory.js', unreferencedOnce);
  patchModule<GroupClass & RecoveringGroupClass>(CONSUMER_GROUP, (Group) =>
    withLeaderMoves(withAdaptiveMaxWait(Group)),
  );
  patchModule(`${PROTOCOL}/produce/v3/request.js`, () => produceRequest);
  patchModule<CreateManager>('kafkajs/src/producer/eosManager/index.js', withCachedCoordinator);
}
