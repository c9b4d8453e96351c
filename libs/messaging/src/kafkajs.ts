import { createRequire } from 'node:module';
import type * as Kafkajs from 'kafkajs';
import { exchangeModules } from './exchanged/exchange-modules.js';

// Its modules keep what they found when they were loaded, so it is loaded here, and nowhere before.
exchangeModules();
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
