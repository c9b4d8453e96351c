import { type TopicSpan } from '#libs/kafka';
import { print } from '../command-line/terminal.js';
import { type DeadLetterLog } from './dead-letter-log.js';
import {
  isSelected,
  lengthOf,
  type LetterSelection,
  looksInside,
  newestSpans,
  spansOfSelection,
} from './letter-selection.js';
import { type LineForm, lineForm } from './line-form.js';
import { Newest } from './newest.js';

export interface ListingOptions {
  selection: LetterSelection;
  /** How many of the newest letters; Infinity for all of them, in the order they are read. */
  limit: number;
  json: boolean;
  /** Each line says which topic its letter is on. */
  namesTopics: boolean;
  signal: AbortSignal;
}

/** Prints the letters of topics, a line each. */
export async function listLetters(
  log: DeadLetterLog,
  topics: readonly string[],
  options: ListingOptions,
): Promise<void> {
  const spans = spansOfSelection(await log.spans(...topics), options.selection);
  const list = options.limit === Infinity ? listAll : listNewest;
  await list(log, spans, lineForm(spans, options), options);
}

/** Printed as they come, since nobody knows how many there are. */
async function listAll(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { line, heading }: LineForm,
  { selection, signal }: ListingOptions,
): Promise<void> {
  if (heading !== undefined) print(heading);
  await log.read(spans, {
    signal,
    onLetters: (letters) => {
      for (const letter of letters) if (isSelected(letter, selection)) print(line(letter));
    },
  });
}

async function listNewest(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { line, heading }: LineForm,
  { selection, limit, signal }: ListingOptions,
): Promise<void> {
  // Offsets are not letters alone: markers of transactions have some, and what was aborted.
  for (let offsets = looksInside(selection) ? Infinity : 2 * limit; ; offsets *= 8) {
    const newest = new Newest<string>(limit);
    const read = newestSpans(spans, offsets);
    const found = new Map<string, number>();
    await log.read(read, {
      signal,
      onLetters: (letters) => {
        for (const letter of letters) {
          if (isSelected(letter, selection)) newest.offer(letter, line(letter));
          const { topic, partition } = letter.record;
          const place = `${topic}/${partition}`;
          found.set(place, (found.get(place) ?? 0) + 1);
        }
      },
    });
    if (signal.aborted) return;
    const isAll = lengthOf(read) === lengthOf(spans);
    const isEnough = read.every(({ topic, partition, from }, index) => {
      return from === spans[index]?.from || (found.get(`${topic}/${partition}`) ?? 0) >= limit;
    });
    if (!isAll && !isEnough) continue;
    printNewest(newest, isAll ? newest.offered : undefined, heading);
    return;
  }
}

/** @param total undefined where there are more than were read */
function printNewest(
  newest: Newest<string>,
  total: number | undefined,
  heading: string | undefined,
): void {
  const lines = newest.inOrder();
  if (heading !== undefined && lines.length > 0) print(heading);
  lines.forEach(print);
  if (heading === undefined) return;
  print(closingLine(lines.length, total));
}

function closingLine(shown: number, total: number | undefined): string {
  if (shown === 0) return 'no dead letters';
  if (shown === total) return `${shown} dead letter${shown === 1 ? '' : 's'}`;
  const all = total === undefined ? '' : ` of ${total}`;
  return `the newest ${shown}${all} dead letters; --limit N or --all shows more`;
}
