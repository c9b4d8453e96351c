import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { batchUnpacker, CompressionCodecs, CompressionTypes } from '#libs/kafkajs-patches';

const compress = promisify<Buffer, Buffer>(gzip);

/**
 * Codecs for what kafkajs compresses and unpacks by itself: a record that is too large for its topic otherwise, and
 * messages in the formats before Kafka 0.11. kafkajs brings gzip alone, without a bound.
 */
export function registerCompressionCodecs(): void {
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
