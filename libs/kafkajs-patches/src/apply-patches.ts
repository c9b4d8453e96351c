import { createRequire } from 'node:module';
import { type CreateAdmin, withItsCluster } from './fixes/admin.js';
import { type DecodeMessages, withBatchesOfAnySize } from './fixes/decode-messages.js';
import {
  committedBatch,
  type JoiningGroupClass,
  type RecoveringGroupClass,
  withGrouplessReaders,
  type OffsetManagerClass,
  withLeaderMoves,
  withoutDefaultCommits,
} from './fixes/consumer.js';
import {
  type ExpiringPoolClass,
  type MetadataResponse,
  type OffsetsClusterClass,
  withLeaderless,
  withOffsetsOfLed,
  withSoonLeaders,
} from './fixes/leaders.js';
import {
  asksForNoTopic,
  type ConnectionClass,
  type CreateMetadataRequest,
  type CreateSocketFactory,
  type MetadataPoolClass,
  openedInTurn,
  type RequestQueueClass,
  unreferencedOnce,
  withBrokersAlone,
  withoutIdleTimers,
  withSessions,
} from './fixes/network.js';
import { createSendMessages, parseProduced } from './fixes/send-messages.js';
import {
  type CoordinatedOffsetManagerClass,
  type OffsetFetch,
  withStableBegin,
  withStableOffsets,
} from './fixes/stable-offsets.js';
import { type CreateManager, withCachedCoordinator } from './speed/cached-coordinator.js';
import { produceRequest } from './speed/produce-request.js';
import { type GroupClass, withAdaptiveMaxWait } from './speed/adaptive-max-wait.js';

const VERSION = '2.2.4';
const require = createRequire(import.meta.url);
const PROTOCOL = 'kafkajs/src/protocol/requests';
const CONSUMER_GROUP = 'kafkajs/src/consumer/consumerGroup.js';

/**
 * Replaces what kafkajs does wrongly, or slowly: the README of this lib has each patch, and why. Must be done before
 * any other module of kafkajs is loaded: these keep what they found then.
 *
 * @throws Error when kafkajs is not the version that the patches are made for
 */
export function applyPatches(): void {
  const { version } = require('kafkajs/package.json') as { version: string };
  if (version !== VERSION) {
    throw new Error(`kafkajs ${version} is installed, but its patches are made for ${VERSION}`);
  }
  patchModule<DecodeMessages>(`${PROTOCOL}/fetch/v4/decodeMessages.js`, withBatchesOfAnySize);
  patchModule<OffsetFetch>(`${PROTOCOL}/offsetFetch/index.js`, withStableOffsets);
  patchModule('kafkajs/src/consumer/batch.js', committedBatch);
  // What the broker answers of each partition is for produceBatches to judge: kafkajs throws the first error alone.
  patchModule(`${PROTOCOL}/produce/v3/response.js`, (response: object) => ({
    ...response,
    parse: parseProduced,
  }));
  patchModule('kafkajs/src/producer/sendMessages.js', () => createSendMessages);
  patchModule<RequestQueueClass>('kafkajs/src/network/requestQueue/index.js', withoutIdleTimers);
  patchModule<ConnectionClass>('kafkajs/src/network/connection.js', (Connection) =>
    openedInTurn(withSessions(Connection)),
  );
  patchModule<CreateSocketFactory>('kafkajs/src/network/socketFactory.js', unreferencedOnce);
  patchModule<OffsetManagerClass & CoordinatedOffsetManagerClass>(
    'kafkajs/src/consumer/offsetManager/index.js',
    (Manager) => withStableBegin(withoutDefaultCommits(Manager)),
  );
  patchModule<GroupClass & RecoveringGroupClass & JoiningGroupClass>(CONSUMER_GROUP, (Group) =>
    withGrouplessReaders(withLeaderMoves(withAdaptiveMaxWait(Group))),
  );
  patchModule<CreateAdmin>('kafkajs/src/admin/index.js', withItsCluster);
  patchModule<CreateMetadataRequest>(`${PROTOCOL}/metadata/v4/request.js`, asksForNoTopic);
  // The parser of all versions.
  patchModule<MetadataResponse>(`${PROTOCOL}/metadata/v0/response.js`, withLeaderless);
  patchModule<MetadataPoolClass & ExpiringPoolClass>('kafkajs/src/cluster/brokerPool.js', (Pool) =>
    withSoonLeaders(withBrokersAlone(Pool)),
  );
  patchModule<OffsetsClusterClass>('kafkajs/src/cluster/index.js', withOffsetsOfLed);
  patchModule(`${PROTOCOL}/produce/v3/request.js`, () => produceRequest);
  patchModule<CreateManager>('kafkajs/src/producer/eosManager/index.js', withCachedCoordinator);
}

/**
 * Puts another module in place of one of kafkajs, which has no setting for it.
 *
 * @param path of the module, such as `kafkajs/src/…/encoder.js`
 * @param ours makes the one to put there out of kafkajs's
 */
function patchModule<M>(path: string, ours: (kafkajs: M) => M): void {
  const original = require(path) as M;
  const module = require.cache[require.resolve(path)];
  if (module === undefined) throw new Error(`${path} is not a module that can be replaced`);
  module.exports = ours(original);
}
