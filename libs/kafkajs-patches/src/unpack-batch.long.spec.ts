import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fc from 'fast-check';
import { Encoder } from '@toondepauw/node-zstd';
import snappy from 'kafkajs-snappy';
import { compressFrame } from 'lz4-napi';
import { batchUnpacker } from './unpack-batch.js';

const [GZIP, SNAPPY, LZ4, ZSTD] = [1, 2, 3, 4];
type Compress = (bytes: Buffer) => Promise<Buffer>;

/** An lz4 frame of 64 KiB blocks, as Kafka's clients write it; by default the package has one block. */
const CODECS: [string, number, Compress][] = [
  ['gzip', GZIP, (bytes) => promisify<Uint8Array, Buffer>(gzip)(bytes)],
  ['snappy', SNAPPY, (bytes) => snappy().compress({ buffer: bytes })],
  ['snappy as Java frames it', SNAPPY, xerial],
  ['lz4', LZ4, (bytes) => compressFrame(bytes)],
  ['zstd', ZSTD, (bytes) => new Encoder(3).encode(bytes)],
];

/** Blocks of 32 KiB behind a head of 16 bytes. */
async function xerial(bytes: Buffer): Promise<Buffer> {
  const parts: Buffer[] = [Buffer.from('82534e415050590000000001' + '00000001', 'hex')];
  for (let at = 0; at < bytes.length; at += 32_768) {
    const block = await snappy().compress({ buffer: bytes.subarray(at, at + 32_768) });
    const length = Buffer.alloc(4);
    length.writeUInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

const LISTS = Array.from(
  { length: 40 },
  (_, index) => `{"machineId":"M-${index}","workingOrders":["4711","4712"]}\n`,
).join('');

/** {@link LISTS}, compressed by the streams with which kafka-clients 4.1.1 writes record batches. */
const FROM_JAVA: [string, number, string][] = [
  [
    'snappy in blocks of 1024 bytes',
    SNAPPY,
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
    SNAPPY,
    'glNOQVBQWQAAAAABAAAAAQAAAPy+ENB7Im1hY2hpbmVJZCI6Ik0tMCIsIndvcmtpbmdPcmRlcnMiOlsiNDcxMSIs' +
      'IjQ3MTIiXX0Kezo0AAAxyjQAADLKNAAAM8o0AAA0yjQAADXKNAAANso0AAA3yjQAADjKNAAAOco0AAAx0gkCzgoC' +
      'ADHOCwIAMc4MAgAxzg0CADHODgIAMc4PAgAxzhACADHOEQIAMc4SAgAyzhICADLOEgIAMs4SAgAyzhICADLOEgIA' +
      'Ms4SAgAyzhICADLOEgIAMs4SAgAyzhICADPOEgIAM84SAgAzzhICADPOEgIAM84SAgAzzhICADPOEgIAM84SAgAz' +
      'zhICADOOEgI=',
  ],
  [
    'lz4',
    LZ4,
    'BCJNGGBAggEBAADwHHsibWFjaGluZUlkIjoiTS0wIiwid29ya2luZ09yZGVycyI6WyI0NzExIiwHAFwyIl19CjQA' +
      'ABwADzQAHR8yaAAgHzM0ACAfNDQAIB81NAAgHzY0ACAfNzQAIB84NAAgHzk0ACAfMQkCIg8KAiEfMQsCIR8xDAIh' +
      'HzENAiEfMQ4CIR8xDwIhHzEQAiEfMRECIR8xEgIhHzISAiEfMhICIR8yEgIhHzISAiEfMhICIR8yEgIhHzISAiEf' +
      'MhICIR8yEgIhHzISAiEfMxICIR8zEgIhHzMSAiEfMxICIR8zEgIhHzMSAiEfMxICIR8zEgIhHzMSAiEfMxICDFAy' +
      'Il19CgAAAAA=',
  ],
  [
    'zstd',
    ZSTD,
    'KLUv/QBYTAUAogUTGZCrxW2xZjbueb9K1sya/d9EZEoXml3PDkr///+/bdu23bZt2wAgNQy6m0QMdBPiYZsQC4qO' +
      'x9YjJFxbvMaDh4syoOISMNcUiAODkCgggDOKD0nJeXmynBLn5WR5Ss6Lk+WUOC8ni1NyXk6Wp+S8OFlOyeelgicL' +
      'BU/JBM+LBE+WCJ4SCJ6XB54sDjwlDTxBDJyHk8EpOA9OhlPgPJwMp6Cfly4SoQEAAA==',
  ],
];

async function unpacked(codec: number, packed: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await batchUnpacker.unpack({ codec, packed }, (piece) => pieces.push(Buffer.from(piece)));
  return Buffer.concat(pieces);
}

/** @param flag 0x80 of one that is not compressed */
function lz4Block(bytes: Buffer, flag = 0): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(bytes.length);
  head.writeUInt8(head.readUInt8(3) | flag, 3);
  return Buffer.concat([head, bytes]);
}

describe('the unpacking of a batch', () => {
  const { maxBytes } = batchUnpacker;

  afterEach(() => {
    batchUnpacker.maxBytes = maxBytes;
  });

  it.each(CODECS)('returns what was compressed: %s', async (_, codec, compress) => {
    const megabytes = Buffer.from(LISTS.repeat(1500));
    for (const original of [Buffer.from(LISTS), megabytes, Buffer.from('a'), Buffer.alloc(0)]) {
      const restored = await unpacked(codec, await compress(original));
      expect(restored.equals(original)).toBe(true);
    }
  });

  it('waits until a window has been read, although the thread is woken before', async () => {
    const original = randomBytes(3_000_000);
    const packed = await xerial(original);
    const pieces: Buffer[] = [];
    await batchUnpacker.unpack({ codec: SNAPPY, packed }, (piece) => {
      const { turn } = batchUnpacker['thread']!;
      for (let tries = 0; tries < 1e6 && Atomics.notify(turn, 0) === 0;) tries += 1;
      // Longer than it takes to overwrite the window; this thread is held up as by a busy machine.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      pieces.push(Buffer.from(piece));
    });
    expect(Buffer.concat(pieces).equals(original)).toBe(true);
  });

  it.each(CODECS)('returns incompressible data: %s', async (_, codec, compress) => {
    const original = randomBytes(3_000_000);
    expect((await unpacked(codec, await compress(original))).equals(original)).toBe(true);
  });

  it.each(CODECS)('unpacks up to the limit, and not beyond it: %s', async (_, codec, compress) => {
    const packed = await compress(Buffer.alloc(3_000_000));
    batchUnpacker.maxBytes = 3_000_000;
    expect(await unpacked(codec, packed)).toHaveLength(3_000_000);
    batchUnpacker.maxBytes = 2_999_999;
    await expect(unpacked(codec, packed)).rejects.toMatchObject({ code: 'too-large' });
    batchUnpacker.maxBytes = maxBytes;
    expect(await unpacked(codec, packed)).toHaveLength(3_000_000);
  });

  it('returns nothing of snappy blocks that announce more than the limit in sum', async () => {
    const packed = await xerial(Buffer.alloc(3_000_000));
    batchUnpacker.maxBytes = 2_999_999;
    const pieces: number[] = [];
    const unpacking = batchUnpacker.unpack({ codec: SNAPPY, packed }, ({ length }) => {
      pieces.push(length);
    });
    await expect(unpacking).rejects.toMatchObject({ code: 'too-large' });
    expect(pieces).toEqual([]);
  });

  it.each(FROM_JAVA)('reads what a Java producer wrote: %s', async (_, codec, sample) => {
    expect(String(await unpacked(codec, Buffer.from(sample, 'base64')))).toBe(LISTS);
  });

  it.each(CODECS)('refuses data that is not compressed: %s', async (_, codec) => {
    const junk = Buffer.from('these bytes were never compressed by anybody');
    await expect(unpacked(codec, junk)).rejects.toMatchObject({ code: 'invalid-message' });
  });

  it.each(CODECS)(
    'refuses what is cut off or changed, if it notices: %s',
    async (_, codec, compress) => {
      const packed = await compress(Buffer.from(LISTS));
      const positions = fc.record({
        at: fc.nat({ max: packed.length - 1 }),
        bit: fc.nat({ max: 7 }),
      });
      await fc.assert(
        fc.asyncProperty(positions, fc.boolean(), async ({ at, bit }, isCut) => {
          const harmed = isCut ? packed.subarray(0, at) : Buffer.from(packed);
          if (!isCut) harmed[at] = packed[at]! ^ (1 << bit);
          await unpacked(codec, harmed).catch((error: unknown) => {
            expect(error).toMatchObject({ name: 'UnreadableBatchError' });
          });
        }),
        { numRuns: 40 },
      );
    },
  );

  it('refuses an unknown codec', async () => {
    await expect(unpacked(5, Buffer.from('x'))).rejects.toMatchObject({ code: 'invalid-message' });
  });

  it('starts no thread for gzip of up to a mebibyte', async () => {
    const ofBytes = (bytes: number): Promise<Buffer> => CODECS[0]![2](Buffer.alloc(bytes));
    await batchUnpacker['endThread']();
    expect(await unpacked(GZIP, await ofBytes(1_048_576))).toHaveLength(1_048_576);
    expect(batchUnpacker['thread']).toBeUndefined();
    expect(await unpacked(GZIP, await ofBytes(1_048_577))).toHaveLength(1_048_577);
    expect(batchUnpacker['thread']).toBeDefined();
  });

  it('leaves the event loop free while it unpacks small gzip', async () => {
    const packed = await CODECS[0]![2](Buffer.alloc(1_048_576));
    const turn = new Promise((resolve) => setImmediate(resolve, 'turn'));
    const unpacking = unpacked(GZIP, packed).then(() => 'unpacked');
    expect(await Promise.race([unpacking, turn])).toBe('turn');
    await unpacking;
  });

  it('reads linked lz4 blocks', async () => {
    // "abcdefgh", then a block that repeats eight bytes from eight back and ends with "!"
    const literal = Buffer.from('80' + Buffer.from('abcdefgh').toString('hex'), 'hex');
    const linked = Buffer.from('0408001021', 'hex');
    const frame = Buffer.concat([
      Buffer.from('04224d18404000', 'hex'),
      ...[literal, linked].map((bytes) => lz4Block(bytes)),
      Buffer.alloc(4),
    ]);
    expect(String(await unpacked(LZ4, frame))).toBe('abcdefghabcdefgh!');
  });

  it('reads many lz4 blocks that refer as far back as allowed', async () => {
    const first = randomBytes(65_536);
    const blocks = [lz4Block(first, 0x80)];
    let expected = first;
    for (let index = 0; index < 20; index += 1) {
      // 40,000 bytes from 65,535 back, and one more
      const [more, rest] = [Buffer.alloc(Math.floor(39_981 / 255), 255), 39_981 % 255];
      const bytes = Buffer.concat([
        Buffer.of(0x0f, 0xff, 0xff),
        more,
        Buffer.of(rest, 0x10, index),
      ]);
      blocks.push(lz4Block(bytes));
      const from = expected.length - 65_535;
      expected = Buffer.concat([
        expected,
        expected.subarray(from, from + 40_000),
        Buffer.of(index),
      ]);
    }
    const frame = Buffer.concat([Buffer.from('04224d18404000', 'hex'), ...blocks, Buffer.alloc(4)]);
    expect((await unpacked(LZ4, frame)).equals(expected)).toBe(true);
  });

  it('reads megabytes of the smallest snappy blocks', async () => {
    const head = Buffer.from('82534e41505059000000000100000001', 'hex');
    const blocks = Buffer.alloc(7 * 750_000, Buffer.from('00000003' + '010041', 'hex'));
    const text = await unpacked(SNAPPY, Buffer.concat([head, blocks]));
    expect(text.equals(Buffer.alloc(750_000, 'A'))).toBe(true);
  });

  it('reads as many of the smallest lz4 frames as fit into a megabyte before a member is taken for dead', async () => {
    const small = Buffer.concat([
      Buffer.from('04224d18607000', 'hex'),
      lz4Block(Buffer.from('A'), 0x80),
      Buffer.alloc(4),
    ]);
    const before = process.cpuUsage();
    await unpacked(LZ4, Buffer.alloc(small.length * 62_500, small));
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(4000);
  });

  it('stops as soon as unpacked data is not wanted', async () => {
    const packed = await new Encoder(3).encode(Buffer.alloc(20_000_000));
    let pieces = 0;
    const taken = batchUnpacker.unpack({ codec: ZSTD, packed }, () => {
      pieces += 1;
      throw new Error('not wanted');
    });
    await expect(taken).rejects.toThrow('not wanted');
    expect(pieces).toBe(1);
    expect(await unpacked(ZSTD, await new Encoder(3).encode(Buffer.from('next')))).toHaveLength(4);
  });
});
