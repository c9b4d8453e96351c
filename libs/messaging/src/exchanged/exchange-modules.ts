import { type DecodeBatch, withEnd } from './batch-end.js';
import { decodeRecord } from './decode-record.js';
import { encodeRecord } from './encode-record.js';
import { exchangeModule } from './exchange-module.js';

/**
 * Exchanges what kafkajs does wrongly, or slowly for every record (decision 29). The modules before those
 * that use them: these keep what they found when they were loaded.
 *
 * @throws Error when kafkajs is not laid out as the pinned version is
 */
export function exchangeModules(): void {
  const record = 'kafkajs/src/protocol/recordBatch/record/v0';
  exchangeModule(`${record}/index.js`, () => encodeRecord);
  exchangeModule(`${record}/decoder.js`, () => decodeRecord);
  exchangeModule<DecodeBatch>('kafkajs/src/protocol/recordBatch/v0/decoder.js', withEnd);
}
