import { Encoder } from '@toondepauw/node-zstd';
import snappy from 'kafkajs-snappy';
import { compressFrame } from 'lz4-napi';
import { CompressionCodecs, CompressionTypes } from './stock-kafkajs.js';

/** The input of a codec in kafkajs: its encoder, of which only the bytes matter here. */
interface EncodedRecords {
  buffer: Buffer;
}

const ZSTD_LEVEL = 3;
const COMPRESS: Partial<Record<CompressionTypes, (records: EncodedRecords) => Promise<Buffer>>> = {
  [CompressionTypes.Snappy]: (records) => snappy().compress(records),
  [CompressionTypes.LZ4]: ({ buffer }) => compressFrame(buffer),
  [CompressionTypes.ZSTD]: ({ buffer }) => new Encoder(ZSTD_LEVEL).encode(buffer),
};

/** Lets kafkajs compress with all codecs; the bridge itself writes only gzip. */
export function registerCompressingCodecs(): void {
  const codecs: Record<number, () => object> = CompressionCodecs;
  for (const [codec, compress] of Object.entries(COMPRESS)) {
    codecs[Number(codec)] = () => ({ compress });
  }
}
