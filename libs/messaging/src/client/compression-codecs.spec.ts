import { CompressionCodecs, CompressionTypes } from '../kafkajs.js';
import { registerCompressionCodecs } from './compression-codecs.js';

interface Codec {
  compress(records: { buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

const CODECS = [
  ['gzip', CompressionTypes.GZIP],
  ['snappy', CompressionTypes.Snappy],
  ['lz4', CompressionTypes.LZ4],
  ['zstd', CompressionTypes.ZSTD],
] as const;

const LISTS = Array.from(
  { length: 40 },
  (_, index) => `{"machineId":"M-${index}","workingOrders":["4711","4712"]}\n`,
).join('');

/** {@link LISTS}, compressed by the streams with which kafka-clients 4.1.1 writes record batches. */
const FROM_JAVA: [string, CompressionTypes, string][] = [
  [
    'snappy in blocks of 1024 bytes',
    CompressionTypes.Snappy,
    'glNOQVBQWQAAAAABAAAAAQAAAJ+ACNB7Im1hY2hpbmVJZCI6Ik0tMCIsIndvcmtpbmdPcmRlcnMiOlsiNDcxMSIs' +
      'IjQ3MTIiXX0Kezo0AAAxyjQAADLKNAAAM8o0AAA0yjQAADXKNAAANso0AAA3yjQAADjKNAAAOco0AAAx0gkCzgoC' +
      'ADHOCwIAMc4MAgAxzg0CADHODgIAMc4PAgAxzhACADHOEQIoMTkiLCJ3b3JraW4AAACUgAhAZ09yZGVycyI6WyI0' +
      'NzExIiwBB3wyIl19CnsibWFjaGluZUlkIjoiTS0yMCIsIndvcmtpbqo1AAFSwjUAADLOagAAM841AAA0zjUAADXO' +
      'NQAANs41AAA3zjUAADjONQAAOco1AAAzzhICADPOEgIAM84SAgAzzhICADPOEgIAM84SAgAzzhICADPOEgIAM2oS' +
      'AgAAAEE+8D0iNDcxMiJdfQp7Im1hY2hpbmVJZCI6Ik0tMzkiLCJ3b3JraW5nT3JkZXJzIjpbIjQ3MTEiLCI0NzEy' +
      'Il19Cg==',
  ],
  [
    'snappy',
    CompressionTypes.Snappy,
    'glNOQVBQWQAAAAABAAAAAQAAAPy+ENB7Im1hY2hpbmVJZCI6Ik0tMCIsIndvcmtpbmdPcmRlcnMiOlsiNDcxMSIs' +
      'IjQ3MTIiXX0Kezo0AAAxyjQAADLKNAAAM8o0AAA0yjQAADXKNAAANso0AAA3yjQAADjKNAAAOco0AAAx0gkCzgoC' +
      'ADHOCwIAMc4MAgAxzg0CADHODgIAMc4PAgAxzhACADHOEQIAMc4SAgAyzhICADLOEgIAMs4SAgAyzhICADLOEgIA' +
      'Ms4SAgAyzhICADLOEgIAMs4SAgAyzhICADPOEgIAM84SAgAzzhICADPOEgIAM84SAgAzzhICADPOEgIAM84SAgAz' +
      'zhICADOOEgI=',
  ],
  [
    'lz4',
    CompressionTypes.LZ4,
    'BCJNGGBAggEBAADwHHsibWFjaGluZUlkIjoiTS0wIiwid29ya2luZ09yZGVycyI6WyI0NzExIiwHAFwyIl19CjQA' +
      'ABwADzQAHR8yaAAgHzM0ACAfNDQAIB81NAAgHzY0ACAfNzQAIB84NAAgHzk0ACAfMQkCIg8KAiEfMQsCIR8xDAIh' +
      'HzENAiEfMQ4CIR8xDwIhHzEQAiEfMRECIR8xEgIhHzISAiEfMhICIR8yEgIhHzISAiEfMhICIR8yEgIhHzISAiEf' +
      'MhICIR8yEgIhHzISAiEfMxICIR8zEgIhHzMSAiEfMxICIR8zEgIhHzMSAiEfMxICIR8zEgIhHzMSAiEfMxICDFAy' +
      'Il19CgAAAAA=',
  ],
  [
    'zstd',
    CompressionTypes.ZSTD,
    'KLUv/QBYTAUAogUTGZCrxW2xZjbueb9K1sya/d9EZEoXml3PDkr///+/bdu23bZt2wAgNQy6m0QMdBPiYZsQC4qO' +
      'x9YjJFxbvMaDh4syoOISMNcUiAODkCgggDOKD0nJeXmynBLn5WR5Ss6Lk+WUOC8ni1NyXk6Wp+S8OFlOyeelgicL' +
      'BU/JBM+LBE+WCJ4SCJ6XB54sDjwlDTxBDJyHk8EpOA9OhlPgPJwMp6Cfly4SoQEAAA==',
  ],
];

function codecOf(type: CompressionTypes): Codec {
  const codecs: Record<number, () => unknown> = CompressionCodecs;
  return codecs[type]?.() as Codec;
}

describe('compression codecs', () => {
  beforeAll(registerCompressionCodecs);

  it.each(CODECS)('gives back what it compressed: %s', async (_, type) => {
    const megabyte = Buffer.from(LISTS.repeat(500));
    for (const original of [Buffer.from(LISTS), megabyte, Buffer.from('a'), Buffer.alloc(0)]) {
      const compressed = await codecOf(type).compress({ buffer: original });
      const restored = await codecOf(type).decompress(compressed);
      expect(restored.equals(original)).toBe(true);
    }
  });

  it.each(CODECS)('makes records smaller: %s', async (_, type) => {
    const compressed = await codecOf(type).compress({ buffer: Buffer.from(LISTS) });
    expect(compressed.length).toBeLessThan(LISTS.length / 4);
  });

  it.each(FROM_JAVA)('reads what a Java producer wrote: %s', async (_, type, sample) => {
    const restored = await codecOf(type).decompress(Buffer.from(sample, 'base64'));
    expect(restored.toString()).toBe(LISTS);
  });

  it.each(CODECS)('rejects what nobody compressed: %s', async (_, type) => {
    const junk = Buffer.from('these bytes were never compressed by anybody');
    await expect(decompressed(type, junk)).resolves.toBe('refused');
  });
});

/** Errors of native code are of another realm under Jest: what counts is that it fails, and in time. */
async function decompressed(type: CompressionTypes, bytes: Buffer): Promise<'read' | 'refused'> {
  try {
    await codecOf(type).decompress(bytes);
    return 'read';
  } catch {
    return 'refused';
  }
}
