import { createRequire } from 'node:module';
import fc from 'fast-check';
import { crc32c } from './crc32c.js';

const byKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/protocol/recordBatch/crc32C/index.js',
) as (bytes: Buffer) => number;

describe('the checksum of a record batch', () => {
  it('is that of kafkajs, wherever the bytes lie', () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(bytes, fc.nat({ max: 9 }), fc.nat({ max: 9 }), (whole, before, behind) => {
        const end = Math.max(before, whole.length - behind);
        expect(crc32c(whole, before, end)).toBe(byKafkajs(whole.subarray(before, end)));
      }),
    );
  });

  it('is the one of RFC 3720', () => {
    expect(crc32c(Buffer.alloc(32), 0, 32)).toBe(0x8a9136aa);
    expect(crc32c(Buffer.from('123456789'), 0, 9)).toBe(0xe3069283);
  });
});
