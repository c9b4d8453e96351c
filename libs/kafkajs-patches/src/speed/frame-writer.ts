/** Writes the fixed parts of Kafka's protocol one behind the other into a buffer of the right size. */
export class FrameWriter {
  constructor(
    readonly buffer: Buffer,
    /** Where the next part begins. */
    public at = 0,
  ) {}

  int8(value: number): this {
    this.at = this.buffer.writeInt8(value, this.at);
    return this;
  }

  int16(value: number): this {
    this.at = this.buffer.writeInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  /** @param value also decimal digits, or an object that kafkajs holds such a number in */
  int64(value: Int64): this {
    this.at = this.buffer.writeBigInt64BE(BigInt(String(value)), this.at);
    return this;
  }

  /** With its length before it. */
  string(text: string | null): this {
    if (text === null) return this.int16(-1);
    const length = Buffer.byteLength(text);
    this.int16(length);
    this.buffer.write(text, this.at, length);
    this.at += length;
    return this;
  }
}

export type Int64 = number | string | { toString(): string };

export function sizeOfString(text: string | null): number {
  return 2 + (text === null ? 0 : Buffer.byteLength(text));
}
