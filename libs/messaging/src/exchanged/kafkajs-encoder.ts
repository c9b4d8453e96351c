/** As much of kafkajs's own encoder as is asked of what goes on its way: to a codec, or out. */
export interface Encoded {
  buf: Buffer;
  buffer: Buffer;
  size(): number;
}

export function encoded(buffer: Buffer): Encoded {
  return { buf: buffer, buffer, size: () => buffer.length };
}
