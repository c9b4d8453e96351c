import { type TopicSpan } from '#libs/messaging';
import { print } from '../terminal.js';
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
  const newest = new Newest<string>(limit);
  const readsAll = looksInside(selection);
  await log.read(readsAll ? spans : newestSpans(spans, limit), {
    signal,
    onLetters: (letters) => {
      for (const letter of letters) {
        if (isSelected(letter, selection)) newest.offer(letter, line(letter));
      }
    },
  });
  if (signal.aborted) return;
  const lines = newest.inOrder();
  if (heading !== undefined && lines.length > 0) print(heading);
  lines.forEach(print);
  if (heading === undefined) return;
  print(closingLine(lines.length, readsAll ? newest.offered : lengthOf(spans)));
}

function closingLine(shown: number, total: number): string {
  if (shown === 0) return 'no dead letters';
  if (shown >= total) return `${shown} dead letter${shown === 1 ? '' : 's'}`;
  return `the newest ${shown} of ${total} dead letters; --limit N or --all shows more`;
}
