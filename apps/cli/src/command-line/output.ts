/** Characters that control a terminal, are hidden, change the direction of text, or are half a character. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes a line of the command's result to stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line to stderr, out of the way of a pipe. */
export function printStatus(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Text of a message, safe on one line of a terminal or of JSON: invisible characters become \uXXXX. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, escaped);
}

/** The same for text of several lines, in which tabs stay. */
export function visibleLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split('\t').map(visible).join('\t'));
}

/** JSON on one line. JSON.stringify escapes fewer characters than a terminal may obey. */
export function visibleJson(value: unknown): string {
  return visible(JSON.stringify(value));
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
