import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import type { KafkaSettings } from '#libs/config';
import {
  batchUnpacker,
  CompressionCodecs,
  CompressionTypes,
  Kafka,
  type KafkaConfig,
  type logCreator,
  logLevel,
} from '#libs/kafkajs-patches';
import { type ConnectionSecurity, secureConnections } from './connection-security.js';

/** A configured client, which makes consumers, producers and admins. */
export type ConfiguredKafka = Kafka & Pick<ConnectionSecurity, 'fileProblems'>;

export function createKafka(settings: KafkaSettings): ConfiguredKafka {
  registerCompressionCodecs();
  // One limit for the process: all of kafkajs's clients share the code that reads batches.
  batchUnpacker.maxBytes = settings.maxUnpackedBatchBytes;
  const security = secureConnections(settings);
  const config: KafkaConfig = {
    clientId: settings.clientId,
    brokers: brokersInTurn(settings.brokers),
    connectionTimeout: 3000,
    requestTimeout: 15_000,
    retry: { initialRetryTime: 100, maxRetryTime: 3000, retries: 5 },
    logLevel: logLevel.WARN,
    logCreator: toNestLogger,
    ...security.config,
  };
  return Object.assign(new Kafka(config), { fileProblems: security.fileProblems });
}

/**
 * Names the brokers one at a time, in turn over all clients: processes do not all begin with the first broker, and no
 * client returns again and again to one that accepts connections but does not answer.
 */
function brokersInTurn(brokers: readonly string[]): () => string[] {
  let next = Math.floor(Math.random() * brokers.length);
  return () => {
    next = (next + 1) % brokers.length;
    return brokers.slice(next, next + 1);
  };
}

/** kafkajs's warning for each idempotent producer with limited retries; its owner retries without a limit. */
const RETRIES_LIMITED =
  'Limiting retries for the idempotent producer may invalidate EoS guarantees';

/** The coordinator is still ending the previous transaction, as it often does for milliseconds. */
const TRANSACTION_BEFORE = 'another concurrent operation on the same transaction';

/** While Kafka is away, each of dozens of connections logs several lines a second. */
const SAME_LINE_EVERY_MS = 10_000;
const MOST_LINES_KNOWN = 100;

/** kafkajs logs errors that it retries itself; those that it gives up reach its callers. */
const toNestLogger: logCreator = () => {
  const logger = new Logger('kafkajs');
  const known = new Map<string, { loggedMs: number; leftOut: number }>();
  return ({ namespace, level, log }) => {
    const { message: given, ...about } = log as Record<string, unknown>;
    const { broker, groupId, topic, partition, error } = about;
    // A connection that fails for good, such as without a token, is logged as its error.
    const message = given instanceof Error ? given.message : given;
    if (message === RETRIES_LIMITED) return;
    const entry = { namespace, msg: message, broker, groupId, topic, partition, error };
    const isOrdinary = [message, error].some((text) => String(text).includes(TRANSACTION_BEFORE));
    if (isOrdinary || (level !== logLevel.ERROR && level !== logLevel.WARN)) {
      logger.debug(entry);
      return;
    }
    const line = JSON.stringify([message, broker, groupId, topic, partition, String(error)]);
    const { loggedMs, leftOut } = known.get(line) ?? { loggedMs: -Infinity, leftOut: 0 };
    const isDue = realNowMs() - loggedMs >= SAME_LINE_EVERY_MS;
    if (known.size === MOST_LINES_KNOWN) known.clear();
    known.set(
      line,
      isDue ? { loggedMs: realNowMs(), leftOut: 0 } : { loggedMs, leftOut: leftOut + 1 },
    );
    if (isDue) logger.warn({ ...entry, ...(leftOut > 0 && { leftOut }) });
  };
};

const compress = promisify<Buffer, Buffer>(gzip);

/** Bounded codecs for data that kafkajs itself compresses or unpacks: it comes with gzip alone, without a bound. */
function registerCompressionCodecs(): void {
  const { GZIP, Snappy, LZ4, ZSTD } = CompressionTypes;
  const codecs: Record<number, () => object> = CompressionCodecs;
  for (const codec of [Snappy, LZ4, ZSTD]) codecs[codec] = () => unpackingCodec(codec);
  codecs[GZIP] = () => ({
    ...unpackingCodec(GZIP),
    compress: (records: { buffer: Buffer }) => compress(records.buffer),
  });
}

function unpackingCodec(codec: CompressionTypes): object {
  return {
    decompress: async (packed: Buffer) => {
      const pieces: Buffer[] = [];
      await batchUnpacker.unpack({ codec, packed }, (piece) => pieces.push(Buffer.from(piece)));
      return Buffer.concat(pieces);
    },
  };
}
