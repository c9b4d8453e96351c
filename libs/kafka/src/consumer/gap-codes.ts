/** How many low bits of a gap stand as they are; a text begins with the place in this list. */
const LOW_BITS = [0, 2, 4, 6, 8, 10, 12];
/** Larger ones have no room: the unfinished messages of a partition do not lie that far apart. */
const MAX_GAP = 2 ** 30;

/**
 * Gaps between ascending numbers as text, in exponential Golomb codes of the order that takes least: of a gap of one a
 * bit, and one more each time that gaps are twice as wide; a single wide one costs the others nothing.
 *
 * @param gaps from 1
 * @param maxLength of the text; `count` of the gaps have room in it
 */
export function encodeGaps(
  gaps: readonly number[],
  maxLength: number,
): { text: string; count: number } {
  if (gaps.length === 0) return { text: '', count: 0 };
  const tooWide = gaps.findIndex((gap) => gap > MAX_GAP);
  const values = (tooWide === -1 ? gaps : gaps.slice(0, tooWide)).map((gap) => gap - 1);
  const lengths = LOW_BITS.map((low) =>
    values.reduce((sum, value) => sum + lengthOf(value, low), 0),
  );
  const length = Math.min(...lengths);
  const form = lengths.indexOf(length);
  const low = LOW_BITS[form] ?? 0;
  const maxBits = Math.floor(((maxLength - 1) * 6) / 8) * 8;
  const bits = new BitWriter(Math.min(length, maxBits));
  let count = 0;
  for (const value of values) {
    if (bits.length + lengthOf(value, low) > maxBits) break;
    const high = (value >> low) + 1;
    bits.write(high, 2 * widthOf(high) - 1);
    bits.write(value, low);
    count += 1;
  }
  return { text: `${form}${bits.text}`, count };
}

/** The gaps of {@link encodeGaps}. */
export function decodeGaps(text: string): number[] {
  const low = LOW_BITS[Number(text[0])] ?? 0;
  const bits = new BitReader(text.slice(1));
  const gaps: number[] = [];
  for (let zeros = bits.zeros(); zeros !== undefined; zeros = bits.zeros()) {
    const high = bits.read(zeros + 1) - 1;
    gaps.push(high * 2 ** low + bits.read(low) + 1);
  }
  return gaps;
}

function lengthOf(value: number, low: number): number {
  return 2 * widthOf((value >> low) + 1) - 1 + low;
}

function widthOf(value: number): number {
  return 32 - Math.clz32(value);
}

class BitWriter {
  private readonly bytes: Buffer;
  length = 0;

  constructor(length: number) {
    this.bytes = Buffer.alloc(Math.ceil(length / 8));
  }

  /** The lowest bits of the value, the highest of them first. */
  write(value: number, width: number): void {
    for (let bit = width - 1; bit >= 0; bit -= 1, this.length += 1) {
      if (bit > 31 || ((value >> bit) & 1) === 0) continue;
      const byte = this.length >> 3;
      this.bytes[byte] = (this.bytes[byte] ?? 0) | (0x80 >> (this.length & 7));
    }
  }

  get text(): string {
    return this.bytes.toString('base64url', 0, Math.ceil(this.length / 8));
  }
}

class BitReader {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(text: string) {
    this.bytes = Buffer.from(text, 'base64url');
  }

  /** How many zeros come before the next one, which is read next; undefined where the text has no other. */
  zeros(): number | undefined {
    const begin = this.at;
    for (const end = this.bytes.length * 8; this.at < end; this.at += 1) {
      if (this.isOne) return this.at - begin;
    }
    return undefined;
  }

  read(width: number): number {
    let value = 0;
    for (let bit = 0; bit < width; bit += 1, this.at += 1) value = value * 2 + Number(this.isOne);
    return value;
  }

  private get isOne(): boolean {
    return (((this.bytes[this.at >> 3] ?? 0) >> (7 - (this.at & 7))) & 1) === 1;
  }
}
