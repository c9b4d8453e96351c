import type { RecordPlace } from '#libs/kafka';

/** The right of one writer's incarnation to write the record of a request. */
export interface Claim {
  /** Position in the log of claims; the next claim has to name it. */
  offset: number;
  transactionalId: string;
  incarnation: string;
}

export interface Receipt extends RecordPlace {
  /** Hash of topic and body. */
  digest: string;
  /** The request has no id: only the process that handles it needs its receipt. */
  isUnclaimed?: true;
}

/** The writer that a claim names. */
export type Holder = Omit<Claim, 'offset'>;

/** A request as remembered: by the claim to write its record, or by the record's place. */
export type Remembered = { timestampMs: number } & (
  { claim: Claim; receipt?: never } | { receipt: Receipt; claim?: never }
);

interface UsedHolder extends Holder {
  claims: number;
}

/** Length of keys and digests, which are base64url. */
const HASH_BYTES = 18;
const HASH_LENGTH = 24;
/** Kinds of entries; a receipt's kind is this plus the index of its topic. */
const FORGOTTEN = 0;
const CLAIM = 1;
const RECEIPT = 2;

/**
 * A map of requests in order of arrival, without an object for each: with a million objects of each kind on the heap, a
 * garbage collection stopped the process for most of a second. An entry takes 57 bytes and 8 of index; the system
 * provides the memory as it is used.
 *
 * Entries are numbered in order and stored in a ring of arrays. Slots point to them by open addressing: no slot between
 * an entry's first slot and its actual one is free.
 */
export class RequestTable {
  private readonly keys: Buffer;
  private readonly digests: Buffer;
  private readonly times: Float64Array;
  /** Offset of the claim or of the record. */
  private readonly offsets: Float64Array;
  /** The number of the claim's holder, or the record's partition. */
  private readonly details: Uint32Array;
  private readonly kinds: Uint8Array;
  /** An entry's index plus 1; 0 if free. */
  private readonly slots: Uint32Array;
  private readonly sought = Buffer.alloc(HASH_BYTES);
  private readonly soughtDigest = Buffer.alloc(HASH_BYTES);
  /** By number, while one of its claims is remembered. */
  private readonly holders: UsedHolder[] = [];
  private readonly holderNumbers = new Map<string, number>();
  private readonly freeNumbers: number[] = [];
  private firstNumber = 0;
  private nextNumber = 0;
  private count = 0;

  constructor(
    private readonly capacity: number,
    /** Full names of the topics that have records. */
    private readonly topics: readonly string[],
  ) {
    this.keys = Buffer.alloc(capacity * HASH_BYTES);
    this.digests = Buffer.alloc(capacity * HASH_BYTES);
    this.times = new Float64Array(capacity);
    this.offsets = new Float64Array(capacity);
    this.details = new Uint32Array(capacity);
    this.kinds = new Uint8Array(capacity);
    this.slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * capacity)));
  }

  get size(): number {
    return this.count;
  }

  get(key: string): Remembered | undefined {
    if (!decodeHash(key, this.sought)) return undefined;
    const index = (this.slots[this.findSlot()] ?? 0) - 1;
    return index < 0 ? undefined : this.entryAt(index);
  }

  /**
   * Replaces the entry of a request, which keeps its place in the order. Ignores entries that ingest cannot have
   * written, by their key, digest or topic.
   *
   * @returns the oldest entry, if it was removed to make room
   */
  set(key: string, entry: Remembered): Remembered | undefined {
    const { receipt } = entry;
    const topic = receipt === undefined ? 0 : this.topics.indexOf(receipt.topic);
    if (topic < 0 || !decodeHash(key, this.sought)) return undefined;
    if (receipt !== undefined && !decodeHash(receipt.digest, this.soughtDigest)) return undefined;
    const known = (this.slots[this.findSlot()] ?? 0) - 1;
    if (known >= 0) {
      this.putEntry(known, entry, topic);
      return undefined;
    }
    const isFull = this.nextNumber - this.firstNumber === this.capacity;
    const oldest = isFull ? this.forgetOldest() : undefined;
    decodeHash(key, this.sought);
    const index = this.nextNumber++ % this.capacity;
    this.slots[this.findSlot()] = index + 1;
    this.sought.copy(this.keys, index * HASH_BYTES);
    this.putEntry(index, entry, topic);
    this.count += 1;
    return oldest;
  }

  delete(key: string): void {
    if (!decodeHash(key, this.sought)) return;
    const slot = this.findSlot();
    const index = (this.slots[slot] ?? 0) - 1;
    if (index < 0) return;
    this.freeSlot(slot);
    this.clearEntry(index);
    this.count -= 1;
  }

  /** Removes the oldest entries, up to the first that is newer. */
  forgetUntil(timestampMs: number): void {
    while (this.firstNumber < this.nextNumber) {
      const index = this.firstNumber % this.capacity;
      if (this.kinds[index] !== FORGOTTEN && (this.times[index] ?? 0) > timestampMs) return;
      this.forgetOldest();
    }
  }

  private forgetOldest(): Remembered | undefined {
    const index = this.firstNumber++ % this.capacity;
    if (this.kinds[index] === FORGOTTEN) return undefined;
    const oldest = this.entryAt(index);
    this.keys.copy(this.sought, 0, index * HASH_BYTES, (index + 1) * HASH_BYTES);
    this.freeSlot(this.findSlot());
    this.clearEntry(index);
    this.count -= 1;
    return oldest;
  }

  private putEntry(
    index: number,
    { timestampMs, claim, receipt }: Remembered,
    topic: number,
  ): void {
    this.clearEntry(index);
    this.times[index] = timestampMs;
    this.offsets[index] = (claim ?? receipt).offset;
    if (claim !== undefined) {
      this.kinds[index] = CLAIM;
      this.details[index] = this.holderNumber(claim);
    } else {
      this.kinds[index] = RECEIPT + topic;
      this.details[index] = receipt.partition;
      this.soughtDigest.copy(this.digests, index * HASH_BYTES);
    }
  }

  private entryAt(index: number): Remembered {
    const timestampMs = this.times[index] ?? 0;
    const offset = this.offsets[index] ?? 0;
    const detail = this.details[index] ?? 0;
    const kind = this.kinds[index] ?? FORGOTTEN;
    const holder = kind === CLAIM ? this.holders[detail] : undefined;
    if (holder !== undefined) {
      const { transactionalId, incarnation } = holder;
      return { timestampMs, claim: { transactionalId, incarnation, offset } };
    }
    const topic = this.topics[kind - RECEIPT] ?? '';
    const from = index * HASH_BYTES;
    const digest = this.digests.toString('base64url', from, from + HASH_BYTES);
    return { timestampMs, receipt: { topic, partition: detail, offset, digest } };
  }

  private holderNumber({ transactionalId, incarnation }: Holder): number {
    let number = this.holderNumbers.get(incarnation);
    if (number === undefined) {
      number = this.freeNumbers.pop() ?? this.holders.length;
      this.holders[number] = { transactionalId, incarnation, claims: 0 };
      this.holderNumbers.set(incarnation, number);
    }
    const holder = this.holders[number];
    if (holder !== undefined) holder.claims += 1;
    return number;
  }

  private clearEntry(index: number): void {
    const number = this.details[index] ?? 0;
    const holder = this.kinds[index] === CLAIM ? this.holders[number] : undefined;
    this.kinds[index] = FORGOTTEN;
    if (holder === undefined) return;
    holder.claims -= 1;
    if (holder.claims > 0) return;
    // otherwise processes that fence each other repeatedly would leave one holder each time
    this.holderNumbers.delete(holder.incarnation);
    this.freeNumbers.push(number);
  }

  /** The slot that points to the sought key, or the free one where it would be. */
  private findSlot(): number {
    const { slots, keys, sought } = this;
    let slot = this.firstSlotOf(sought, 0);
    for (let next = slots[slot] ?? 0; next > 0; next = slots[slot] ?? 0) {
      const from = (next - 1) * HASH_BYTES;
      if (keys.compare(sought, 0, HASH_BYTES, from, from + HASH_BYTES) === 0) break;
      slot = this.slotAfter(slot);
    }
    return slot;
  }

  /** Frees a slot; later entries that could not be found any more move up. */
  private freeSlot(slot: number): void {
    const { slots } = this;
    const mask = slots.length - 1;
    let free = slot;
    for (let at = this.slotAfter(free); ; at = this.slotAfter(at)) {
      const next = slots[at] ?? 0;
      if (next === 0) break;
      const first = this.firstSlotOf(this.keys, (next - 1) * HASH_BYTES);
      if (((at - first) & mask) < ((at - free) & mask)) continue;
      slots[free] = next;
      free = at;
    }
    slots[free] = 0;
  }

  private firstSlotOf(hashes: Buffer, at: number): number {
    return hashes.readUInt32LE(at) & (this.slots.length - 1);
  }

  private slotAfter(slot: number): number {
    return (slot + 1) & (this.slots.length - 1);
  }
}

/** Returns whether the text is a hash. */
function decodeHash(text: string, into: Buffer): boolean {
  return text.length === HASH_LENGTH && into.write(text, 'base64url') === HASH_BYTES;
}
