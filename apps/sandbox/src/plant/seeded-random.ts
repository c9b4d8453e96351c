/**
 * A reproducible source of numbers in [0, 1): the same key always yields the same sequence, so that each span of a
 * timeline can be computed separately.
 */
export function seededRandom(...key: readonly (string | number)[]): () => number {
  let state = hash(key.join('\u0000'));
  // mulberry32: 32 bits of state suffice for some dozens of numbers for a shift
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** FNV-1a with a final avalanche, so that similar keys yield dissimilar seeds. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value ^ (value >>> 13);
}
