import { connect } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Encoder } from '@toondepauw/node-zstd';
import snappy from 'kafkajs-snappy';
import { compressFrame } from 'lz4-napi';
import { eventually, FinalFailure } from '../eventually.js';

/** Kafka's numbers of the codecs. */
export const CODEC = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

/** A record batch whose records are written and compressed by hand, because no client makes such batches. */
export interface PackedBatch {
  codec: number;
  records: number;
  packed: Buffer;
}

function compress(codec: keyof typeof CODEC, bytes: Buffer): Promise<Buffer> {
  const into = {
    none: (it: Buffer) => Promise.resolve(it),
    gzip: (it: Buffer) => promisify<Uint8Array, Buffer>(gzip)(it),
    snappy: (it: Buffer) => inXerialBlocks(it, 32_768),
    lz4: (it: Buffer) => compressFrame(it),
    zstd: (it: Buffer) => new Encoder(3).encode(it),
  };
  return into[codec](bytes);
}

const compressSnappy = (bytes: Buffer): Promise<Buffer> => snappy().compress({ buffer: bytes });

/** One record of `bytes` times `x`, in one codec. */
export async function batchOfOne(codec: keyof typeof CODEC, bytes: number): Promise<PackedBatch> {
  const record = recordOf(Buffer.alloc(bytes, 'x'));
  return { codec: CODEC[codec], records: 1, packed: await compress(codec, record) };
}

/** One record, in snappy with the framing of Java's clients, in blocks of `blockBytes`. */
export async function snappyInBlocks(value: Buffer, blockBytes: number): Promise<PackedBatch> {
  const packed = await inXerialBlocks(recordOf(value), blockBytes);
  return { codec: CODEC.snappy, records: 1, packed };
}

/** One record in zstd whose value of `bytes` is written as blocks of one repeated byte. */
export function zstdOfOneByte(bytes: number): PackedBatch {
  const [before, after] = [Buffer.from([0, 0, 0, 1, ...varint(bytes)]), Buffer.from([0])];
  const length = varint(before.length + bytes + after.length);
  return zstdOf(1, [Buffer.from(length), before, ...repeated('x', bytes), after]);
}

/** One record in zstd with `headers` headers, each without a name and with an empty value. */
export function zstdOfHeaders(headers: number): PackedBatch {
  const before = Buffer.from([0, 0, 0, 1, 0, ...varint(headers)]);
  const length = varint(before.length + 2 * headers);
  return zstdOf(1, [Buffer.from(length), before, ...repeated('\0', 2 * headers)]);
}

/** Records without key and headers, in one codec; without a value unless it has some bytes. */
export async function batchOfRecords(
  codec: keyof typeof CODEC,
  records: number,
  valueBytes = 0,
): Promise<PackedBatch & { unpackedBytes: number }> {
  const value = valueBytes === 0 ? [1] : [...varint(valueBytes), ...Buffer.alloc(valueBytes, 'x')];
  const all: Buffer[] = [];
  for (let delta = 0; delta < records; delta += 1) {
    const body = [0, 0, ...varint(delta), 1, ...value, 0];
    all.push(Buffer.from([...varint(body.length), ...body]));
  }
  const bytes = Buffer.concat(all);
  const packed = await compress(codec, bytes);
  return { codec: CODEC[codec], records, packed, unpackedBytes: bytes.length };
}

/** The broker leads no partition for a moment, such as after a standstill; it has not stored the batch. */
const NOT_LEADER = 6;

/**
 * Appends a batch to a partition, by a produce request of version 7; the broker unpacks and checks it.
 *
 * @throws Error with the broker's error code
 */
export async function produce(
  broker: string,
  topic: string,
  partition: number,
  batch: PackedBatch,
): Promise<void> {
  await eventually('the broker takes the batch', async () => {
    // After a broken connection it may be stored: again, it would be there twice.
    const code = await produceOnce(broker, topic, partition, batch).catch((error: unknown) => {
      throw new FinalFailure(String(error));
    });
    if (code !== 0 && code !== NOT_LEADER) throw new FinalFailure(`the broker answers ${code}`);
    return code === 0;
  });
}

/** Returns the broker's error code, or 0. */
async function produceOnce(
  broker: string,
  topic: string,
  partition: number,
  batch: PackedBatch,
): Promise<number> {
  const encoded = encodeBatch(batch);
  const body = Buffer.concat([
    numbers([0, 2], [7, 2], [1, 4]),
    text('test'),
    numbers([-1, 2], [-1, 2], [30_000, 4], [1, 4]),
    text(topic),
    numbers([1, 4], [partition, 4], [encoded.length, 4]),
    encoded,
  ]);
  const answer = await exchange(broker, Buffer.concat([numbers([body.length, 4]), body]));
  // correlation id, count of topics, name, count of partitions, partition
  return answer.readInt16BE(4 + 4 + text(topic).length + 4 + 4);
}

function exchange(broker: string, request: Buffer): Promise<Buffer> {
  const [host, port] = broker.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host);
    let answer = Buffer.alloc(0);
    socket.on('error', reject);
    socket.on('data', (bytes) => {
      answer = Buffer.concat([answer, bytes]);
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return;
      socket.destroy();
      resolve(answer.subarray(4));
    });
    socket.write(request);
  });
}

function encodeBatch({ codec, records, packed }: PackedBatch): Buffer {
  const now = Buffer.alloc(16);
  now.writeBigInt64BE(BigInt(Date.now()), 0);
  now.copy(now, 8, 0, 8);
  const checked = Buffer.concat([
    numbers([codec, 2], [records - 1, 4]),
    now,
    Buffer.alloc(14, 0xff),
    numbers([records, 4]),
    packed,
  ]);
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32c(checked));
  const head = [Buffer.alloc(8), numbers([4 + 1 + 4 + checked.length, 4], [-1, 4], [2, 1])];
  return Buffer.concat([...head, crc, checked]);
}

function recordOf(value: Buffer): Buffer {
  const body = Buffer.concat([
    Buffer.from([0, 0, 0, 1, ...varint(value.length)]),
    value,
    Buffer.of(0),
  ]);
  return Buffer.concat([Buffer.from(varint(body.length)), body]);
}

async function inXerialBlocks(bytes: Buffer, blockBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [Buffer.from('82534e41505059000000000100000001', 'hex')];
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = await compressSnappy(bytes.subarray(at, at + blockBytes));
    parts.push(numbers([block.length, 4]), block);
  }
  return Buffer.concat(parts);
}

interface Repeated {
  byte: string;
  count: number;
}

const ZSTD_BLOCK_BYTES = 128 * 1024;

function repeated(byte: string, bytes: number): Repeated[] {
  const whole = Math.floor(bytes / ZSTD_BLOCK_BYTES);
  const blocks = new Array<Repeated>(whole).fill({ byte, count: ZSTD_BLOCK_BYTES });
  const rest = bytes % ZSTD_BLOCK_BYTES;
  return rest === 0 ? blocks : [...blocks, { byte, count: rest }];
}

/** A frame of uncompressed blocks and of blocks of one repeated byte. */
function zstdOf(records: number, blocks: readonly (Buffer | Repeated)[]): PackedBatch {
  // no checksum, no size of the content, a window of 128 KiB
  const parts: Buffer[] = [Buffer.from('28b52ffd0038', 'hex')];
  blocks.forEach((block, index) => {
    const isLast = index === blocks.length - 1 ? 1 : 0;
    const [type, size] = Buffer.isBuffer(block) ? [0, block.length] : [1, block.count];
    const head = Buffer.alloc(3);
    head.writeUIntLE(isLast | (type << 1) | (size << 3), 0, 3);
    parts.push(head, Buffer.isBuffer(block) ? block : Buffer.from(block.byte));
  });
  return { codec: CODEC.zstd, records, packed: Buffer.concat(parts) };
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value * 2;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}

function numbers(...given: readonly [value: number, bytes: number][]): Buffer {
  return Buffer.concat(
    given.map(([value, bytes]) => {
      const buffer = Buffer.alloc(bytes);
      buffer.writeIntBE(value, 0, bytes);
      return buffer;
    }),
  );
}

function text(value: string): Buffer {
  return Buffer.concat([numbers([value.length, 2]), Buffer.from(value)]);
}

function crc32c(bytes: Buffer): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}
