import { readHeaderName } from './header-names.js';

const NONE = -1;

/** Reads the parts of a record on and on; what lies beyond the end is nothing but zeros. */
export class Cursor {
  constructor(
    readonly buffer: Buffer,
    /** Where the next part begins. */
    public at: number,
  ) {}

  /** Exact up to 2^52. */
  varint(): number {
    let byte = this.buffer[this.at++] ?? 0;
    let zigzag = byte & 0x7f;
    for (let scale = 128; byte > 0x7f; scale *= 128) {
      byte = this.buffer[this.at++] ?? 0;
      zigzag += (byte & 0x7f) * scale;
    }
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  /** What follows its length; null when there is nothing, as opposed to no bytes. */
  bytes(): Buffer | null {
    const length = this.varint();
    if (length === NONE) return null;
    return this.buffer.subarray(this.at, (this.at += length));
  }

  headerName(): string {
    const length = this.varint();
    return readHeaderName(this.buffer, this.at, (this.at += length));
  }

  /** Leaves out what {@link bytes} would read. */
  pass(): void {
    const length = this.varint();
    this.at += Math.max(length, 0);
  }
}
