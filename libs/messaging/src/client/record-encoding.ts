import { createRequire } from 'node:module';
import { encodeRecord } from './encode-record.js';

const KAFKAJS_RECORD = 'kafkajs/src/protocol/recordBatch/record/v0/index.js';

/**
 * Makes kafkajs write records with {@link encodeRecord}. Its own way allocates for every header and
 * every number, and costs four times as much (decision 29). kafkajs has no setting for it; so the
 * module is exchanged before the first request makes it known to the rest of kafkajs.
 *
 * @throws Error when kafkajs is not laid out as the pinned version is
 */
export function useOwnRecordEncoding(): void {
  const require = createRequire(import.meta.url);
  require(KAFKAJS_RECORD);
  const module = require.cache[require.resolve(KAFKAJS_RECORD)];
  if (typeof module?.exports !== 'function') {
    throw new Error(`kafkajs has another ${KAFKAJS_RECORD} than the version this project pins`);
  }
  module.exports = encodeRecord;
}
