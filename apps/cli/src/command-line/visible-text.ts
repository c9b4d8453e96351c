/** What steers a terminal, hides or turns around text, or is half a character. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text out of a message, on one line of a terminal or of JSON: what cannot be seen becomes \uXXXX. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, escaped);
}

/** The same for text of several lines, in which tabs stay. */
export function visibleLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split('\t').map(visible).join('\t'));
}

/** JSON on one line. It escapes fewer characters by itself than a terminal may obey. */
export function visibleJson(value: unknown): string {
  return visible(JSON.stringify(value));
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
