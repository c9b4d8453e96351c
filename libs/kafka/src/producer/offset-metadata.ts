/** The progress that a commit states: its offset and the content of its metadata. */
export interface CommitPosition {
  /** All earlier messages are finished. */
  offset: number;
  /** The messages finished above it, up to `upTo`: the metadata has no room for more. */
  ahead: string;
  upTo: number;
  /** Done items of unfinished messages; undefined if the metadata has no room for them. */
  items: string | undefined;
  /** All unfinished messages up to this offset have been deferred; undefined if the first has not. */
  deferredUpTo?: number | undefined;
}

/** Metadata of a committed offset, for the next owner of the partition. */
export interface OffsetMetadata {
  /** Messages finished ahead of the offset. */
  finished: FinishedAhead | undefined;
  items: DoneItems;
  /** The transaction that committed it; undefined if the bridge did not commit it. */
  transaction: string | undefined;
  /** All unfinished messages up to this offset have been deferred; undefined if none has. */
  deferredUpTo: number | undefined;
}

const NONE = '-';
/** Versions without `deferred` read the text after the colon as a part of the transaction's name. */
const FORM = /^tx\/1 ([^\s:]{1,64})(?::([0-9a-z]{1,11}))? (\S+)(?: (.+))?$/;
/** Written by versions that committed offsets without transactions. */
const EARLIER_FORM = /^told\/1 \S+ (.+)$/;

/** `ahead` is the metadata of {@link FinishedAhead.compose}, `items` of {@link composeItems}; both may be empty. */
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
    finished: FinishedAhead.parse(committed, ahead ?? aheadBefore ?? null),
    items: parseItems(items),
    transaction,
    deferredUpTo: deferredUpTo === undefined ? undefined : fromBase36(deferredUpTo),
  };
}

/** Less than brokers accept as metadata of a commit (4096 by default). */
const MAX_AHEAD_LENGTH = 3000;
/** Gaps in base 36: readable, and the only form that earlier versions read. */
const LISTED_FORM = /^ahead\/1 ([0-9a-z]{1,11}) ((?:[0-9a-z]{1,11}(?:\.[0-9a-z]{1,11})*)?)$/;
/** A list within this share of the room also fits when it is coded, however wide its gaps are. */
const LISTED_SHARE = 2 / 3;
/** Gaps of {@link encodeGaps}, if they are too many for a list. */
const CODED_FORM = /^ahead\/2 ([0-9a-z]{1,11}) ([\w-]+)$/;

/**
 * The messages above the committed offset that are finished, by the commit's metadata. The next owner of the
 * partition does not repeat them: an older list would come back for a moment.
 */
export class FinishedAhead {
  private constructor(
    private readonly committed: number,
    /** The highest offset that the metadata covers. */
    readonly upTo: number,
    private readonly unfinished: ReadonlySet<number>,
  ) {}

  /** Undefined if the metadata states nothing, or the bridge did not write it. */
  static parse(committed: number, metadata: string | null): FinishedAhead | undefined {
    const [, upToListed, listed] = LISTED_FORM.exec(metadata ?? '') ?? [];
    const [, upTo = upToListed, coded] = CODED_FORM.exec(metadata ?? '') ?? [];
    if (upTo === undefined) return undefined;
    const gaps = coded === undefined ? parseListed(listed) : decodeGaps(coded);
    const unfinished = new Set([committed]);
    let offset = committed;
    for (const gap of gaps) unfinished.add((offset += gap));
    return new FinishedAhead(committed, fromBase36(upTo), unfinished);
  }

  /**
   * Metadata for a commit of the lowest unfinished offset; empty if nothing above it has finished. `upTo` is lower
   * than `highest` if the metadata has no room for all unfinished offsets. It never falls as more of them finish or
   * others are started: an offset committed as finished stays so.
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
    // Messages above may be repeated.
    const upTo = (unfinished[count + 1] ?? highest + 1) - 1;
    const nothingAhead = unfinished.length === 0 || upTo - count === unfinished[0];
    const form = listed === undefined ? 'ahead/2' : 'ahead/1';
    return { metadata: nothingAhead ? '' : `${form} ${upTo.toString(36)} ${text}`, upTo };
  }

  /** The number of finished offsets above the committed one; transaction markers count. */
  get count(): number {
    return this.upTo - this.committed + 1 - this.unfinished.size;
  }

  /** The unfinished offsets above this one, up to {@link upTo}. */
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

/** Undefined if the list is longer: each gap takes at least a digit and a dot. */
function listGaps(gaps: readonly number[], maxLength: number): string | undefined {
  if (2 * gaps.length - 1 > maxLength) return undefined;
  const listed = gaps.map((gap) => gap.toString(36)).join('.');
  return listed.length > maxLength ? undefined : listed;
}

function parseListed(listed = ''): number[] {
  return listed === '' ? [] : listed.split('.').map(fromBase36);
}

function fromBase36(text: string): number {
  return parseInt(text, 36);
}

/** Each character is two groups of three bits. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Bit of a group: another group follows. The other two bits are a digit of the gap. */
const MORE = 4;
const DIGITS = 4;

/**
 * Gaps between ascending numbers as text: three bits for gaps of up to 4, six up to 16, nine up to 64, and so on. Two
 * gaps take no less than the one left without the number between them: numbers that have room keep it.
 *
 * @param gaps from 1
 * @param maxLength of the text; `count` gaps fit into it
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
    // An unterminated last group fills the character.
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

/** Less than {@link FinishedAhead} leaves of a commit's metadata: brokers accept 4096 by default. */
const MAX_ITEMS_LENGTH = 900;
const ITEMS_FORM = /^([0-9a-z]{1,11}:[\w-]+)(?:,[0-9a-z]{1,11}:[\w-]+)*$/;

/**
 * The done items of partly done messages: by the offset of the message, the indexes of its items. Kept in the
 * metadata of a commit, so that the next owner of the partition does not repeat them after newer messages.
 */
export type DoneItems = Map<number, Set<number>>;

export function addItem(items: DoneItems, offset: number, index: number): void {
  const done = items.get(offset);
  if (done === undefined) items.set(offset, new Set([index]));
  else done.add(index);
}

/** Empty if the text has another form. */
function parseItems(text: string): DoneItems {
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

/** For {@link parseItems}; undefined if a commit has no room for it. */
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
