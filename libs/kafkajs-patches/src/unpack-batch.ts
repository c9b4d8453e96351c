import { on } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gunzip } from 'node:zlib';
import { UnreadableBatchError } from './fetched-record.js';

/** The records of a batch as stored in Kafka. */
interface PackedRecords {
  /** Kafka's number of the codec. */
  codec: number;
  packed: Buffer;
  /** Share of `maxBytes` that the batch may unpack to; all by default. */
  share?: number;
}

/** Report of the thread: a filled window, or the end of a batch. */
interface Report {
  filled?: number;
  end?: 'whole' | 'too large' | 'damaged' | 'not wanted';
  unpacked?: number;
  why?: string;
}

interface Thread {
  worker: Worker;
  window: Buffer;
  turn: Int32Array;
}

const PROGRAM = new URL('./unpacking-thread.js', import.meta.url);
const WINDOW_BYTES = 1024 * 1024;
const [MAY_BE_OVERWRITTEN, NOT_WANTED] = [0, -1];
/** The codecs take far less; their output and the memory of zstd do not count. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };
const GZIP = 1;
const CODEC_NAMES = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

const gunzipInPool = promisify(gunzip);

/**
 * Unpacks record batches one after the other, in a thread of its own: 64 MiB take half a second, during which
 * heartbeats and answers would wait. The limit of unpacked bytes applies to all codecs: a few kilobytes of any may
 * unpack to gigabytes.
 *
 * Gzip of up to a mebibyte is unpacked in Node's pool of threads instead, and so are nearly all batches of the bridge's
 * own states: with a thread, a start with 1,000 machines took 0.26 s more CPU on Node 20, and 19 MB.
 */
class BatchUnpacker {
  /** Limit of unpacked bytes of a batch. */
  maxBytes = DEFAULT_MAX_BYTES;
  private thread: Thread | undefined;
  private before: Promise<unknown> = Promise.resolve();

  /**
   * Resolves with the number of bytes once `take` has received all. Their buffer is reused after each call of `take`,
   * which may throw. @throws UnreadableBatchError when the batch is larger than allowed, or damaged
   */
  unpack(batch: PackedRecords, take: (bytes: Buffer) => void): Promise<number> {
    const unpacking = this.before.then(() => this.unpackNext(batch, take));
    this.before = unpacking.catch(() => undefined);
    return unpacking;
  }

  private async unpackNext(
    { codec, packed, share = 1 }: PackedRecords,
    take: (bytes: Buffer) => void,
  ): Promise<number> {
    const name = CODEC_NAMES[codec];
    if (name === undefined) {
      throw new UnreadableBatchError('invalid-message', `the batch has an unknown codec, ${codec}`);
    }
    const limit = Math.floor(this.maxBytes * share);
    const small = codec === GZIP ? await gunzipSmall(packed, limit) : undefined;
    if (small !== undefined) {
      if (small.length > 0) take(small);
      return small.length;
    }
    this.thread ??= this.startThread();
    const { thread } = this;
    let isWhole = false;
    try {
      // A copy: transferring a part of the fetch would transfer all of it.
      const own = new Uint8Array(packed);
      thread.worker.postMessage({ codec, packed: own, limit }, [own.buffer]);
      const { end, unpacked = 0, why } = await endOf(thread, take);
      isWhole = end === 'whole';
      if (isWhole) return unpacked;
      if (end === 'too large') throw tooLarge(`unpacks to more than ${limit} bytes (${name})`);
      throw new UnreadableBatchError('invalid-message', `the batch is no ${name}: ${why}`);
    } finally {
      // The next batch begins with a new thread: a codec that was stopped does not free its memory.
      if (!isWhole) await this.endThread();
    }
  }

  private startThread(): Thread {
    const shared = new SharedArrayBuffer(WINDOW_BYTES);
    const turn = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const worker = new Worker(PROGRAM, {
      workerData: { shared, turn },
      resourceLimits: RESOURCE_LIMITS,
    });
    worker.unref();
    // The caller of `unpack` receives it as well; without a listener it would end the process.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.thread?.worker === worker) this.thread = undefined;
    });
    return { worker, window: Buffer.from(shared), turn: new Int32Array(turn) };
  }

  private async endThread(): Promise<void> {
    const { thread } = this;
    this.thread = undefined;
    await thread?.worker.terminate();
  }
}

/** Undefined for a large batch or a damaged one, of which the thread says what is wrong. */
async function gunzipSmall(packed: Buffer, limit: number): Promise<Buffer | undefined> {
  try {
    return await gunzipInPool(packed, { maxOutputLength: Math.min(limit, WINDOW_BYTES) });
  } catch {
    return undefined;
  }
}

export function tooLarge(what: string): UnreadableBatchError {
  return new UnreadableBatchError('too-large', `the batch ${what}`);
}

/** @throws the exception of `take`, or an Error when the thread has ended */
async function endOf(
  { worker, window, turn }: Thread,
  take: (bytes: Buffer) => void,
): Promise<Report> {
  for await (const [report] of on(worker, 'message', { close: ['exit'] }) as AsyncIterable<
    [Report]
  >) {
    if (report.filled === undefined) return report;
    let answer = NOT_WANTED;
    try {
      take(window.subarray(0, report.filled));
      answer = MAY_BE_OVERWRITTEN;
    } finally {
      Atomics.store(turn, 0, answer);
      Atomics.notify(turn, 0);
    }
  }
  throw new Error('the thread that unpacks record batches has ended');
}

export const batchUnpacker = new BatchUnpacker();
