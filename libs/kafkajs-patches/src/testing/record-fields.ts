import fc from 'fast-check';
import { type RecordFields } from './encode-record.js';

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const large = fc.nat({ max: 12_000 }).map((size) => Buffer.alloc(size, 'x'));
// What an object inherits under such a name is taken for a header by kafkajs.
const name = fc.string({ maxLength: 20 }).filter((text) => !(text in {}));

/** Any record that kafkajs reads as it was written. */
export const recordFields: fc.Arbitrary<RecordFields> = fc.record(
  {
    offsetDelta: fc.nat({ max: 2 ** 21 }),
    timestampDelta: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    key: fc.option(bytes),
    value: fc.option(fc.oneof({ weight: 4, arbitrary: bytes }, large)),
    headers: fc.dictionary(name, fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 })), {
      maxKeys: 9,
    }),
  },
  { requiredKeys: ['value'] },
);
