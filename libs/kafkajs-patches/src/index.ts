import { createRequire } from 'node:module';
import type * as Kafkajs from 'kafkajs';
import { applyPatches } from './apply-patches.js';

// Its modules keep what they found when they were loaded, so it is loaded here, and nowhere before.
applyPatches();
const kafkajs = createRequire(import.meta.url)('kafkajs') as typeof Kafkajs;

export const {
  AssignerProtocol,
  CompressionTypes,
  ConfigResourceTypes,
  Kafka,
  logLevel,
  Partitioners,
} = kafkajs;
/** In kafkajs but not in its types as a value of any codec. */
export const { CompressionCodecs } = kafkajs;

// Of what is exported under these names above, the types.
export type CompressionTypes = Kafkajs.CompressionTypes;
export type ConfigResourceTypes = Kafkajs.ConfigResourceTypes;
export type Kafka = Kafkajs.Kafka;
export type * from 'kafkajs';
export { type FetchedRecord, fetchedRecords, type Unreadable } from './fixes/fetched-record.js';
export { unsentBatches } from './fixes/send-messages.js';
export { batchUnpacker } from './fixes/unpack-batch.js';
export { UnencodableMessageError } from './speed/produce-request.js';
