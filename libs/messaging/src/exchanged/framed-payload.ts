import { FrameWriter, sizeOfString } from './frame-writer.js';
import { type Encoded } from './kafkajs-encoder.js';

/** What stands before a request's payload in its frame. */
export interface FrameHead {
  apiKey: number;
  apiVersion: number;
  correlationId: number;
  clientId: string;
}

/** Room for the head with a client id of a hundred bytes. */
const ROOM = 114;
/** Size, api key, version and correlation id. */
const FIXED_HEAD_BYTES = 12;

/** The payload of a request, to be written, and room before it: with its head it is sent from where it lies. */
export class FramedPayload implements Encoded {
  private readonly whole: Buffer;
  readonly buffer: Buffer;

  constructor(bytes: number) {
    this.whole = Buffer.allocUnsafe(ROOM + bytes);
    this.buffer = this.whole.subarray(ROOM);
  }

  get buf(): Buffer {
    return this.buffer;
  }

  size(): number {
    return this.buffer.length;
  }

  writer(): FrameWriter {
    return new FrameWriter(this.buffer);
  }

  /** The frame as it is sent; undefined when there is no room for that client id. */
  frame({ apiKey, apiVersion, correlationId, clientId }: FrameHead): Buffer | undefined {
    const start = ROOM - FIXED_HEAD_BYTES - sizeOfString(clientId);
    if (start < 0) return undefined;
    const frame = this.whole.subarray(start);
    new FrameWriter(frame)
      .int32(frame.length - 4)
      .int16(apiKey)
      .int16(apiVersion)
      .int32(correlationId)
      .string(clientId);
    return frame;
  }
}
