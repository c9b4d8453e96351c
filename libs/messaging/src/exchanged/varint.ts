/** Numbers of few bytes as records have them: seven bits a byte, the lowest first, small ones of either sign short. */

/** Exact up to 2^52, far beyond any difference of times. */
function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

export function sizeOfVarint(value: number): number {
  let rest = zigzag(value);
  if (rest < 0x80) return 1;
  let size = 1;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Returns where the next part begins. */
export function writeVarint(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) | 0x80;
  buffer[at] = rest;
  return at + 1;
}
