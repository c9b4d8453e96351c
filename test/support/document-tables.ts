import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** The text of a page from a heading to the next heading of the same level or above. */
export function section(page: string, heading: string): string {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8').replace(/^```[^]*?^```/gm, '');
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const [, rest] = text.split(`\n${heading}\n`);
  if (rest === undefined) throw new Error(`${page} has no heading ${heading}`);
  const end = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
}

/** The cells of the tables in a text, without header rows. */
export function rowsOf(text: string): string[][] {
  const tables = text.match(/(^\|.*\n)+/gm) ?? [];
  return tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim()),
      ),
  );
}

export function codeSpans(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
}
