/** Characters that control a terminal, are hidden, change the direction of text, or are half a surrogate pair. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes a line of the command's result to stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line to stderr, so that it does not get into a pipe. */
export function printStatus(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Writes a line of progress to stderr if that is a terminal. */
export function printProgress(line: string): void {
  if (process.stderr.isTTY) printStatus(line);
}

/** A number with its noun, `1 member`, `2 members`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Lines of a table; the last column has any width. */
function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)));
  }
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Records as one JSON object a line, or as a table of `cells` below its heading. */
export function printRecords<T extends object>(
  records: readonly T[],
  json: boolean,
  table: { heading: readonly string[]; cells: (record: T) => readonly string[] },
): void {
  if (json) {
    for (const record of records) print(visibleJson(record));
    return;
  }
  const rows = records.map((record) => table.cells(record).map(visible));
  tableLines([table.heading, ...rows]).forEach(print);
}

/** Text of a message, safe on one line of a terminal or of JSON: invisible characters become \uXXXX. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, escaped);
}

/** Like {@link visible}, for text of several lines. Keeps tabs. */
export function visibleLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split('\t').map(visible).join('\t'));
}

/** JSON on one line. Escapes also the control characters that JSON.stringify does not. */
export function visibleJson(value: unknown): string {
  return visible(JSON.stringify(value));
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
