import { createRequire } from 'node:module';
import type * as Kafkajs from 'kafkajs';

/**
 * kafkajs as it is published. Tests read and write with a separate, unpatched copy, so that a mistake in libs/kafka or
 * libs/kafkajs-patches cannot hide behind the same mistake in the test, even if the test runs a part of libs/kafka in
 * its own process.
 */
const kafkajs = createRequire(import.meta.url)('kafkajs-stock') as typeof Kafkajs;

export const { CompressionCodecs, CompressionTypes, ConfigResourceTypes } = kafkajs;
export const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } =
  kafkajs;
export const { Kafka, logLevel, Partitioners } = kafkajs;
export type CompressionTypes = Kafkajs.CompressionTypes;
export type Kafka = Kafkajs.Kafka;
export type { Admin, Consumer, IHeaders, ITopicConfig, Message, Producer } from 'kafkajs';
