import { createRequire } from 'node:module';
import { withItsCluster } from './admin.js';
import {
  withCachedCoordinator,
  withLeaderless,
  withOffsetsOfLed,
  withSoonLeaders,
} from './cluster.js';
import {
  withAdaptiveMaxWait,
  withFetchersEnded,
  withGrouplessReaders,
  withLeaderMoves,
  withoutDefaultCommits,
  withSteadyHeartbeats,
} from './consumer.js';
import { withBatchesOfAnySize } from './decode-messages.js';
import { committedBatch } from './fetched-record.js';
import { withMemberIds } from './leave-group.js';
import {
  asksForNoTopic,
  openedInTurn,
  unreferencedOnce,
  withBrokersAlone,
  withGreetingsInTime,
  withoutIdleTimers,
  withSessions,
  withSilentBrokersLeft,
  withSteadyThrottle,
  withTimeForLarge,
} from './network.js';
import { produceRequest } from './produce-request.js';
import { createSendMessages, parseProduced } from './send-messages.js';
import { withStableBegin, withStableOffsets } from './stable-offsets.js';
import { withSteadyExpiry, withSteadyTimeouts } from './steady-time.js';

const VERSION = '2.2.4';
const require = createRequire(import.meta.url);
const PROTOCOL = 'kafkajs/src/protocol/requests';
const CONSUMER = 'kafkajs/src/consumer';
const NETWORK = 'kafkajs/src/network';

/**
 * Replaces the modules of kafkajs that the README lists, before any module that would keep the original is loaded.
 * @throws Error when kafkajs is not the version that the patches are made for
 */
export function applyPatches(): void {
  const { version } = require('kafkajs/package.json') as { version: string };
  if (version !== VERSION) {
    throw new Error(`kafkajs ${version} is installed, but its patches are made for ${VERSION}`);
  }
  patchModule(`${PROTOCOL}/fetch/v4/decodeMessages.js`, withBatchesOfAnySize);
  patchModule(`${PROTOCOL}/offsetFetch/index.js`, withStableOffsets);
  patchModule(`${CONSUMER}/batch.js`, committedBatch);
  // produceBatches judges the answer for each partition; kafkajs throws the first error alone.
  patchModule(`${PROTOCOL}/produce/v3/response.js`, (response: object) => ({
    ...response,
    parse: parseProduced,
  }));
  patchModule(`${PROTOCOL}/produce/index.js`, withTimeForLarge);
  patchModule('kafkajs/src/producer/sendMessages.js', () => createSendMessages);
  patchModule(`${NETWORK}/requestQueue/socketRequest.js`, withSteadyTimeouts);
  patchModule(
    `${NETWORK}/requestQueue/index.js`,
    withoutIdleTimers,
    withGreetingsInTime,
    withSteadyThrottle,
  );
  patchModule(`${NETWORK}/connection.js`, withSessions, openedInTurn);
  patchModule(`${NETWORK}/socketFactory.js`, unreferencedOnce);
  patchModule('kafkajs/src/broker/index.js', withMemberIds, withSilentBrokersLeft);
  patchModule(`${CONSUMER}/offsetManager/index.js`, withoutDefaultCommits, withStableBegin);
  patchModule(
    `${CONSUMER}/consumerGroup.js`,
    withAdaptiveMaxWait,
    withLeaderMoves,
    withGrouplessReaders,
    withSteadyHeartbeats,
  );
  patchModule(`${CONSUMER}/fetchManager.js`, withFetchersEnded);
  patchModule('kafkajs/src/admin/index.js', withItsCluster);
  patchModule(`${PROTOCOL}/metadata/v4/request.js`, asksForNoTopic);
  // Parses all versions.
  patchModule(`${PROTOCOL}/metadata/v0/response.js`, withLeaderless);
  patchModule(
    'kafkajs/src/cluster/brokerPool.js',
    withSteadyExpiry,
    withBrokersAlone,
    withSoonLeaders,
  );
  patchModule('kafkajs/src/cluster/index.js', withOffsetsOfLed);
  patchModule(`${PROTOCOL}/produce/v3/request.js`, () => produceRequest);
  patchModule('kafkajs/src/producer/eosManager/index.js', withCachedCoordinator);
}

/** Replaces a module of kafkajs (`kafkajs/src/…/encoder.js`) by the result of all patches, applied in turn. */
function patchModule(path: string, ...patches: readonly ((original: never) => unknown)[]): void {
  const original: unknown = require(path);
  const module = require.cache[require.resolve(path)];
  if (module === undefined) throw new Error(`${path} is not a module that can be replaced`);
  module.exports = patches.reduce((patched, patch) => patch(patched as never), original);
}
