// The only way to kafkajs, with the modules replaced that README.md lists.
import { createRequire } from 'node:module';
import type * as Kafkajs from 'kafkajs';
import { applyPatches } from './apply-patches.js';

// Loaded nowhere else before: its modules keep the imports that they were loaded with.
applyPatches();
const require = createRequire(import.meta.url);
const kafkajs = require('kafkajs') as typeof Kafkajs;

const createSocketFactory =
  require('kafkajs/src/network/socketFactory.js') as () => Kafkajs.ISocketFactory;
/** kafkajs's own way to open a connection. */
export const openSocket = createSocketFactory();

interface Login {
  username: string;
  password: string;
}
type LoginProvider = (login: Login) => Kafkajs.Mechanism['authenticationProvider'];
const AUTHENTICATORS = 'kafkajs/src/broker/saslAuthenticator';
/** kafkajs's own logins by user name and password. */
export const passwordLogins = {
  plain: require(`${AUTHENTICATORS}/plain.js`) as LoginProvider,
  'scram-sha-256': require(`${AUTHENTICATORS}/scram256.js`) as LoginProvider,
  'scram-sha-512': require(`${AUTHENTICATORS}/scram512.js`) as LoginProvider,
};

export const {
  AssignerProtocol,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  logLevel,
  Partitioners,
} = kafkajs;
/** kafkajs's types do not allow values of any codec here. */
export const { CompressionCodecs } = kafkajs;

// The types of the values exported above under these names.
export type CompressionTypes = Kafkajs.CompressionTypes;
export type ConfigResourceTypes = Kafkajs.ConfigResourceTypes;
export type Kafka = Kafkajs.Kafka;
export type * from 'kafkajs';
export { type FetchedRecord, fetchedRecords, type Unreadable } from './fetched-record.js';
export { readEndsUncommitted, readStableOffsets } from './admin.js';
export { isLeaderless, leaderNotAvailable, limitOffsetWait } from './cluster.js';
export { withoutGroup } from './consumer.js';
export { leaveGroup } from './leave-group.js';
export { unsentBatches } from './send-messages.js';
export { batchUnpacker } from './unpack-batch.js';
export { UnencodableMessageError } from './produce-request.js';
