/** The progress that a commit records: its offset, and what its metadata says. */
export interface CommitPosition {
  /** All before it is finished. */
  offset: number;
  /** The messages that are finished beyond it, up to `upTo`: the metadata has no room for more. */
  ahead: string;
  upTo: number;
  /** Items that are done of unfinished messages; undefined where the metadata has no room for them. */
  items: string | undefined;
  /** All unfinished messages up to it have been deferred; undefined where the first has not. */
  deferredUpTo?: number | undefined;
}

/** The metadata of a committed offset, for the next owner of the partition. */
export interface OffsetMetadata {
  /** The messages that are finished ahead of the offset. */
  finished: FinishedAhead | undefined;
  items: DoneItems;
  /** The transaction that has committed it; undefined where it was none of the bridge's. */
  transaction: string | undefined;
  /** All messages up to it that are unfinished have been deferred; undefined where none has. */
  deferredUpTo: number | undefined;
}

const NONE = '-';
/** Versions before `deferred` was kept take what follows the colon for a part of the transaction's name. */
const FORM = /^tx\/1 ([^\s:]{1,64})(?::([0-9a-z]{1,11}))? (\S+)(?: (.+))?$/;
/** Before offsets were committed in transactions. */
const EARLIER_FORM = /^told\/1 \S+ (.+)$/;

/**
 * `ahead` is the metadata of {@link FinishedAhead.compose}, `items` of {@link composeItems}; both may be empty.
 */
export function formatOffsetMetadata(
  transaction: string,
  { items = '', ahead, deferredUpTo }: Pick<CommitPosition, 'items' | 'ahead' | 'deferredUpTo'>,
): string {
  const deferred = deferredUpTo === undefined ? '' : `:${deferredUpTo.toString(36)}`;
  return `tx/1 ${transaction}${deferred} ${items || NONE}${ahead && ` ${ahead}`}`;
}

export function parseOffsetMetadata(committed: number, metadata: string | null): OffsetMetadata {
  const [, transaction, deferredUpTo, items = '', ahead] = FORM.exec(metadata ?? '') ?? [];
  const [, aheadBefore] = EARLIER_FORM.exec(metadata ?? '') ?? [];
  return {
    finished: FinishedAhead.read(committed, ahead ?? aheadBefore ?? null),
    items: readItems(items),
    transaction,
    deferredUpTo: deferredUpTo === undefined ? undefined : fromBase36(deferredUpTo),
  };
}

/** Below what a broker takes as a commit's metadata (4096 by default). */
const MAX_AHEAD_LENGTH = 3000;
/** Gaps in base 36: readable, and all that earlier versions read. */
const LISTED_FORM = /^ahead\/1 ([0-9a-z]{1,11}) ((?:[0-9a-z]{1,11}(?:\.[0-9a-z]{1,11})*)?)$/;
/** What is listed in so much of the room has room when it is coded, however wide its gaps are. */
const LISTED_SHARE = 2 / 3;
/** Gaps of {@link encodeGaps}, where they are too many to be listed. */
const CODED_FORM = /^ahead\/2 ([0-9a-z]{1,11}) ([\w-]+)$/;

/**
 * Which messages beyond the committed offset have finished as well, by the commit's metadata, so
 * that whoever owns the partition next does not repeat them: an older list would come back for a moment.
 */
export class FinishedAhead {
  private constructor(
    private readonly committed: number,
    /** The highest offset of which anything is known. */
    readonly upTo: number,
    private readonly unfinished: ReadonlySet<number>,
  ) {}

  /** Undefined when the metadata says nothing, or is not ours. */
  static read(committed: number, metadata: string | null): FinishedAhead | undefined {
    const [, upToListed, listed] = LISTED_FORM.exec(metadata ?? '') ?? [];
    const [, upTo = upToListed, coded] = CODED_FORM.exec(metadata ?? '') ?? [];
    if (upTo === undefined) return undefined;
    const gaps = coded === undefined ? readListed(listed) : decodeGaps(coded);
    const unfinished = new Set([committed]);
    let offset = committed;
    for (const gap of gaps) unfinished.add((offset += gap));
    return new FinishedAhead(committed, fromBase36(upTo), unfinished);
  }

  /**
   * Metadata for a commit of the lowest unfinished offset; empty when nothing beyond it has finished.
   * `upTo` is lower than `highest` where so many are unfinished that the metadata has no room for all that have. It
   * never falls as more of them finish, or others are started: what was committed as finished stays so.
   *
   * @param unfinished in ascending order; the first is the offset to be committed
   * @param highest the highest offset started
   * @param maxLength of the gaps
   */
  static compose(
    unfinished: readonly number[],
    highest: number,
    maxLength = MAX_AHEAD_LENGTH,
  ): { metadata: string; upTo: number } {
    const gaps: number[] = [];
    let [last = highest] = unfinished;
    for (const offset of unfinished.slice(1)) {
      gaps.push(offset - last);
      last = offset;
    }
    const listed = listGaps(gaps, maxLength * LISTED_SHARE);
    const { text, count } =
      listed === undefined ? encodeGaps(gaps, maxLength) : { text: listed, count: gaps.length };
    // What lies beyond may be repeated.
    const upTo = (unfinished[count + 1] ?? highest + 1) - 1;
    const nothingAhead = unfinished.length === 0 || upTo - count === unfinished[0];
    const form = listed === undefined ? 'ahead/2' : 'ahead/1';
    return { metadata: nothingAhead ? '' : `${form} ${upTo.toString(36)} ${text}`, upTo };
  }

  /** How many offsets beyond the committed one have finished; markers of transactions count as well. */
  get count(): number {
    return this.upTo - this.committed + 1 - this.unfinished.size;
  }

  /** The offsets above this one, up to {@link upTo}, that have not finished. */
  unfinishedAbove(offset: number): number[] {
    return [...this.unfinished].filter((unfinished) => unfinished > offset);
  }

  covers(offset: number): boolean {
    return offset >= this.committed && offset <= this.upTo;
  }

  includes(offset: number): boolean {
    return this.covers(offset) && !this.unfinished.has(offset);
  }
}

/** Undefined where the list is longer: each gap takes a digit and a dot. */
function listGaps(gaps: readonly number[], maxLength: number): string | undefined {
  if (2 * gaps.length - 1 > maxLength) return undefined;
  const listed = gaps.map((gap) => gap.toString(36)).join('.');
  return listed.length > maxLength ? undefined : listed;
}

function readListed(listed = ''): number[] {
  return listed === '' ? [] : listed.split('.').map(fromBase36);
}

function fromBase36(text: string): number {
  return parseInt(text, 36);
}

/** Each character is two groups of three bits. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** A bit of a group: another one follows. The other bits are a digit of the gap. */
const MORE = 4;
const DIGITS = 4;

/**
 * Gaps between ascending numbers as text: three bits for gaps of up to 4, six up to 16, nine up to 64, and so on. Two
 * gaps take no less than the one that is left where the number between them goes: what has found room keeps it.
 *
 * @param gaps from 1
 * @param maxLength of the text; `count` of the gaps have room in it
 */
function encodeGaps(gaps: readonly number[], maxLength: number): { text: string; count: number } {
  const groups: number[] = [];
  let count = 0;
  for (const gap of gaps) {
    let digits = 1;
    for (let power = DIGITS; power < gap; power *= DIGITS) digits += 1;
    if (groups.length + digits > 2 * maxLength) break;
    for (let place = DIGITS ** (digits - 1); place >= 1; place /= DIGITS) {
      groups.push((Math.floor((gap - 1) / place) % DIGITS) + (place > 1 ? MORE : 0));
    }
    count += 1;
  }
  let text = '';
  for (let at = 0; at < groups.length; at += 2) {
    // a last group that has no end fills the character
    text += ALPHABET.charAt((groups[at] ?? 0) * 8 + (groups[at + 1] ?? MORE));
  }
  return { text, count };
}

function decodeGaps(text: string): number[] {
  const gaps: number[] = [];
  let value = 0;
  for (const character of text) {
    const both = ALPHABET.indexOf(character);
    for (const group of [both >> 3, both & 7]) {
      value = value * DIGITS + (group % MORE);
      if (group >= MORE) continue;
      gaps.push(value + 1);
      value = 0;
    }
  }
  return gaps;
}

/** Below what is left of a commit's metadata beside {@link FinishedAhead}: a broker takes 4096 by default. */
const MAX_ITEMS_LENGTH = 900;
const ITEMS_FORM = /^([0-9a-z]{1,11}:[\w-]+)(?:,[0-9a-z]{1,11}:[\w-]+)*$/;

/**
 * Which items of a message are done, where not all of them are: by the offset of the message, and by their place in it,
 * from 0. Kept in the metadata of a commit, so that the next owner of the partition does not do them again behind newer
 * messages.
 */
export type DoneItems = Map<number, Set<number>>;

export function addItem(items: DoneItems, offset: number, index: number): void {
  const done = items.get(offset);
  if (done === undefined) items.set(offset, new Set([index]));
  else done.add(index);
}

/** Empty where the text is none of ours. */
function readItems(text: string): DoneItems {
  const items: DoneItems = new Map();
  for (const entry of ITEMS_FORM.test(text) ? text.split(',') : []) {
    const [offset = '', bits = ''] = entry.split(':');
    Buffer.from(bits, 'base64url').forEach((byte, at) => {
      for (let bit = 0; bit < 8; bit += 1) {
        if ((byte & (1 << bit)) !== 0) addItem(items, fromBase36(offset), at * 8 + bit);
      }
    });
  }
  return items;
}

/** For {@link readItems}; undefined where it is longer than a commit has room for. */
export function composeItems(items: DoneItems): string | undefined {
  const text = [...items]
    .map(([offset, done]) => {
      const bits = Buffer.alloc(Math.floor(Math.max(...done) / 8) + 1);
      for (const index of done) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
      return `${offset.toString(36)}:${bits.toString('base64url')}`;
    })
    .join(',');
  return text.length > MAX_ITEMS_LENGTH ? undefined : text;
}
