import { Decoder, Encoder } from '@toondepauw/node-zstd';
import snappy from 'kafkajs-snappy';
import { compressFrame, decompressFrame } from 'lz4-napi';
import { CompressionCodecs, CompressionTypes } from '../kafkajs.js';

/** What kafkajs hands to a codec: its encoder, of which only the bytes matter here. */
interface EncodedRecords {
  buffer: Buffer;
}

const ZSTD_LEVEL = 3;

const lz4 = () => ({
  compress: (records: EncodedRecords) => compressFrame(records.buffer),
  decompress: (buffer: Buffer) => decompressFrame(buffer),
});

const zstd = () => ({
  compress: (records: EncodedRecords) => new Encoder(ZSTD_LEVEL).encode(records.buffer),
  decompress: (buffer: Buffer) => new Decoder().decode(buffer),
});

/** kafkajs brings gzip alone; a batch in an unknown codec would end the consumer. */
export function registerCompressionCodecs(): void {
  CompressionCodecs[CompressionTypes.Snappy] = snappy;
  CompressionCodecs[CompressionTypes.LZ4] = lz4;
  CompressionCodecs[CompressionTypes.ZSTD] = zstd;
}
