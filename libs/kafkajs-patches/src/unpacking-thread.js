// The program of the thread that unpacks record batches one after the other; see unpack-batch.ts. Plain JavaScript,
// which node runs from here as well as from dist/.
//
// Unpacked bytes go through a window of shared memory: the thread fills it, reports how far, and sleeps until it may
// be overwritten. So neither side holds more of a batch than the window, whatever the batch unpacks to.
import { parentPort, workerData } from 'node:worker_threads';
import { createGunzip } from 'node:zlib';
import { ZSTDDecoder } from 'zstddec/stream';

const { shared, turn: turnBytes } = workerData;
const window = new Uint8Array(shared);
/** 1 while the other side reads the window, 0 when it may be overwritten, -1 when the other side wants no more. */
const turn = new Int32Array(turnBytes);

const [GZIP, SNAPPY, LZ4, ZSTD] = [1, 2, 3, 4];
const UNPACK = { [GZIP]: gunzip, [SNAPPY]: snappy, [LZ4]: lz4, [ZSTD]: zstd };

class TooLarge extends Error {}
class NotWanted extends Error {}

parentPort.on('message', async ({ codec, packed, limit }) => {
  parentPort.postMessage(await unpack(codec, Buffer.from(packed), limit));
});

async function unpack(codec, packed, limit) {
  const output = new Output(limit);
  try {
    await UNPACK[codec](packed, output);
    output.flush();
    return { end: 'whole', unpacked: output.bytes };
  } catch (error) {
    if (error instanceof NotWanted) return { end: 'not wanted', unpacked: output.bytes };
    const end = error instanceof TooLarge ? 'too large' : 'damaged';
    return { end, unpacked: output.bytes, why: String(error?.message) };
  }
}

/** Receives unpacked bytes, up to the limit. */
class Output {
  bytes = 0;
  #filled = 0;

  constructor(limit) {
    this.limit = limit;
  }

  /** Must be called before memory of that size is allocated: the size in a batch may be false. */
  announce(bytes) {
    if (this.bytes + bytes > this.limit) throw new TooLarge();
  }

  write(bytes) {
    this.announce(bytes.length);
    this.bytes += bytes.length;
    for (let from = 0; from < bytes.length;) {
      if (this.#filled === window.length) this.flush();
      const until = Math.min(bytes.length, from + window.length - this.#filled);
      window.set(bytes.subarray(from, until), this.#filled);
      this.#filled += until - from;
      from = until;
    }
  }

  flush() {
    if (this.#filled === 0) return;
    Atomics.store(turn, 0, 1);
    parentPort.postMessage({ filled: this.#filled });
    // The other side stores before it notifies: the notification may come during this thread's next wait, and end it.
    while (Atomics.load(turn, 0) === 1) Atomics.wait(turn, 0, 1);
    if (Atomics.load(turn, 0) < 0) throw new NotWanted();
    this.#filled = 0;
  }
}

async function gunzip(packed, output) {
  const gunzip = createGunzip();
  gunzip.end(packed);
  for await (const chunk of gunzip) output.write(chunk);
}

const zstdDecoder = new ZSTDDecoder();
/** The decoder ignores errors: it then returns empty pieces without end. */
const MOST_EMPTY_PIECES = 1000;

/** In pieces of at most 128 KiB. */
async function zstd(packed, output) {
  await zstdDecoder.init();
  let empty = 0;
  for (const piece of zstdDecoder.decodeStreaming([packed])) {
    empty = piece.length === 0 ? empty + 1 : 0;
    if (empty > MOST_EMPTY_PIECES) throw new Error('no zstd frame');
    output.write(piece);
  }
}

const XERIAL = Buffer.from('82534e4150505900', 'hex');
const XERIAL_BLOCKS_AT = 16;

/** In the framing of Java's clients, or one bare block. */
function snappy(packed, output) {
  if (!packed.subarray(0, XERIAL.length).equals(XERIAL)) {
    output.write(snappyBlock(packed, output));
    return;
  }
  let total = 0;
  for (const block of xerialBlocks(packed)) {
    total += snappyLength(block).length;
    output.announce(total);
  }
  for (const block of xerialBlocks(packed)) output.write(snappyBlock(block, output));
}

/** Not as a list: five megabytes of the smallest blocks take more memory than the thread has. */
function* xerialBlocks(packed) {
  for (let at = XERIAL_BLOCKS_AT; at < packed.length;) {
    const start = at + 4;
    at = start + packed.readUInt32BE(at);
    if (at > packed.length) throw new Error('a snappy block ends early');
    yield packed.subarray(start, at);
  }
}

function snappyLength(block) {
  let length = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = byteAt(block, at);
    length += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return { length, start: at + 1 };
  }
  throw new Error('a snappy block has no length');
}

function snappyBlock(block, output) {
  const { length, start } = snappyLength(block);
  output.announce(length);
  const target = new Uint8Array(length);
  let end = 0;
  for (let at = start; at < block.length;) {
    const tag = byteAt(block, at);
    at += 1;
    const kind = tag & 3;
    if (kind === 0) {
      const extra = Math.max(0, (tag >>> 2) - 59);
      const size = (extra === 0 ? tag >>> 2 : numberAt(block, at, extra)) + 1;
      at += extra;
      end = literal(block, at, size, target, end);
      at += size;
    } else {
      const size = kind === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
      const extra = kind === 3 ? 4 : kind;
      const distance = numberAt(block, at, extra) + (kind === 1 ? (tag >>> 5) * 256 : 0);
      at += extra;
      end = repeat(target, end, distance, size);
    }
  }
  if (end !== length) throw new Error(`${end} of a snappy block's ${length} bytes`);
  return target;
}

const LZ4_FRAME = 0x184d2204;
const SKIPPABLE_FRAME = 0x184d2a50;
const LZ4_HISTORY = 64 * 1024;
const NOT_COMPRESSED = 0x80000000;

/** Buffer for all frames of a batch: allocating 70,000 takes 16 seconds, during which no heartbeat is sent. */
let lz4Target = new Uint8Array(0);

function lz4(packed, output) {
  for (let at = 0; at < packed.length;) {
    const magic = packed.readUInt32LE(at);
    if (magic === LZ4_FRAME) at = lz4Frame(packed, at + 4, output);
    else if ((magic & ~0xf) === SKIPPABLE_FRAME) at += 8 + packed.readUInt32LE(at + 4);
    else throw new Error('no lz4 frame');
  }
}

/** Returns the end of the frame. */
function lz4Frame(packed, start, output) {
  const [flags, sizes] = [byteAt(packed, start), byteAt(packed, start + 1)];
  const has = (bit) => (flags & bit) !== 0;
  const largest = 2 ** (8 + 2 * ((sizes >>> 4) & 7));
  if (flags >>> 6 !== 1 || largest < LZ4_HISTORY || has(0x01)) {
    throw new Error('an lz4 frame of another kind');
  }
  // Linked blocks refer to the output of the blocks before. That history is moved once it has doubled.
  const size = 2 * LZ4_HISTORY + largest;
  if (lz4Target.length < size) lz4Target = new Uint8Array(size);
  const target = lz4Target;
  const isLinked = !has(0x20);
  let history = 0;
  let at = start + 3 + (has(0x08) ? 8 : 0);
  for (;;) {
    const head = packed.readUInt32LE(at);
    at += 4;
    if (head === 0) return at + (has(0x04) ? 4 : 0);
    const until = at + (head & ~NOT_COMPRESSED);
    if (until > packed.length) throw new Error('an lz4 block ends early');
    const block = packed.subarray(at, until);
    const end =
      head >= NOT_COMPRESSED
        ? literal(block, 0, block.length, target, history)
        : lz4Block(block, target, history);
    output.write(target.subarray(history, end));
    if (isLinked) history = end;
    if (history > 2 * LZ4_HISTORY) {
      target.copyWithin(0, end - LZ4_HISTORY, end);
      history = LZ4_HISTORY;
    }
    at = until + (has(0x10) ? 4 : 0);
  }
}

/** Returns the end of its output. */
function lz4Block(block, target, start) {
  let end = start;
  for (let at = 0; ;) {
    const token = byteAt(block, at);
    let size = token >>> 4;
    at += 1;
    if (size === 15) [size, at] = lz4Length(block, at, size);
    end = literal(block, at, size, target, end);
    at += size;
    if (at === block.length) return end;
    const distance = numberAt(block, at, 2);
    at += 2;
    size = token & 15;
    if (size === 15) [size, at] = lz4Length(block, at, size);
    end = repeat(target, end, distance, size + 4);
  }
}

function lz4Length(block, start, base) {
  let length = base;
  for (let at = start; ; at += 1) {
    const more = byteAt(block, at);
    length += more;
    if (more < 255) return [length, at + 1];
  }
}

/** Up to here a loop is faster than a call into the runtime. */
const SHORT = 24;

/** Copies literal bytes; returns their end in the target. */
function literal(source, from, size, target, end) {
  const until = from + size;
  if (until > source.length || end + size > target.length) throw new Error('a literal is too long');
  if (size > SHORT) target.set(source.subarray(from, until), end);
  else for (let at = 0; at < size; at += 1) target[end + at] = source[from + at];
  return end + size;
}

/** Appends bytes from `distance` back in the target; the range may overlap its copy. */
function repeat(target, end, distance, size) {
  if (distance === 0 || distance > end || end + size > target.length) {
    throw new Error('a reference beyond what there is');
  }
  const from = end - distance;
  const until = end + size;
  if (size <= SHORT) {
    for (let at = end; at < until; at += 1) target[at] = target[at - distance];
    return until;
  }
  for (let at = end; at < until;) {
    const known = Math.min(at - from, until - at);
    target.copyWithin(at, from, from + known);
    at += known;
  }
  return until;
}

/** Little-endian. */
function numberAt(bytes, at, size) {
  let number = 0;
  for (let index = 0; index < size; index += 1)
    number += byteAt(bytes, at + index) * 2 ** (8 * index);
  return number;
}

function byteAt(bytes, at) {
  if (at >= bytes.length) throw new Error('it ends early');
  return bytes[at];
}
