/** A name that was read before, and the bytes it was read from. */
interface KnownName {
  bytes: Uint8Array;
  text: string;
}

const SLOTS = 256;
/** Longer ones are read each time. */
const LONGEST = 40;
/** By a hash of their bytes; of two in one place the later one stays. */
const known = new Array<KnownName | undefined>(SLOTS);

/** The name of a header as text. There are few, and the same string for all is cheaper than to read each anew. */
export function readHeaderName(buffer: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length > LONGEST) return buffer.toString('utf8', start, end);
  const slot = slotOf(buffer, start, end);
  const found = known[slot];
  if (found?.bytes.length === length && isAt(buffer, start, found.bytes)) return found.text;
  const text = buffer.toString('utf8', start, end);
  known[slot] = { bytes: new Uint8Array(buffer.subarray(start, end)), text };
  return text;
}

function slotOf(buffer: Buffer, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (buffer[at] ?? 0)) | 0;
  return hash & (SLOTS - 1);
}

function isAt(buffer: Buffer, start: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) {
    if (buffer[start + index] !== bytes[index]) return false;
  }
  return true;
}
