import { parse } from 'csv-parse/sync';

/**
 * Rows by column name. Spreadsheets begin with `sep=;` where they are told to, and end in rows of empty cells.
 *
 * @param columns those that must be there, in the names that the rows have them by
 * @throws Error where it is no CSV, or a column is missing or there twice
 */
export function readCsvMap(csv: string, columns: readonly string[]): unknown {
  const [, separator, table = ''] = /^\s*(?:"?sep=(.)"?\r?\n)?([^]*)$/i.exec(csv) ?? [];
  return parse(table, {
    columns: (names: string[]) => columnsOf(names, columns),
    delimiter: separator ?? delimiterOf(table),
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    trim: true,
  });
}

/** Spreadsheets write a semicolon where the comma is taken for decimals. In quotes it is part of a name, as a new line is. */
function delimiterOf(csv: string): string {
  const [names = ''] = csv
    .trimStart()
    .replace(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1);
  return [';', '\t'].find((delimiter) => names.includes(delimiter)) ?? ',';
}

function columnsOf(names: readonly string[], columns: readonly string[]): string[] {
  const found = names.map((name) => columnName(name, columns));
  const missing = columns.filter((column) => !found.includes(column));
  if (missing.length > 0) throw new Error(`the first line has no column ${missing.join(', ')}`);
  const twice = columns.find((column) => found.indexOf(column) !== found.lastIndexOf(column));
  if (twice !== undefined) throw new Error(`the first line has column ${twice} twice`);
  return found;
}

/** People write column names as they like. */
function columnName(name: string, columns: readonly string[]): string {
  const plain = name.toLowerCase().replace(/[\s_-]/g, '');
  return columns.find((column) => column.toLowerCase() === plain) ?? name;
}
