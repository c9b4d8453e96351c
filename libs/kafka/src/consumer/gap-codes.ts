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
export function encodeGaps(
  gaps: readonly number[],
  maxLength: number,
): { text: string; count: number } {
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

/** The gaps of {@link encodeGaps}. */
export function decodeGaps(text: string): number[] {
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
