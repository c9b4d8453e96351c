import { type TopicSpan } from '#libs/messaging';
import { print } from '../terminal.js';
import { type DeadLetterLog } from './dead-letter-log.js';
import { LETTER_LINE_HEADING, letterJson, letterLine } from './letter-line.js';
import {
  isSelected,
  lengthOf,
  type LetterSelection,
  looksInside,
  newestSpans,
  spansOfSelection,
} from './letter-selection.js';
import { Newest } from './newest.js';

export interface ListingOptions {
  selection: LetterSelection;
  /** How many of the newest letters; Infinity for all of them, in the order they are read. */
  limit: number;
  json: boolean;
  signal: AbortSignal;
}

/** Prints the letters of one topic, a line each. */
export async function listLetters(
  log: DeadLetterLog,
  topic: string,
  options: ListingOptions,
): Promise<void> {
  const spans = spansOfSelection(await log.spans(topic), options.selection);
  if (options.limit === Infinity) await listAll(log, spans, options);
  else await listNewest(log, spans, options);
}

/** Printed as they come, since nobody knows how many there are. */
async function listAll(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { selection, json, signal }: ListingOptions,
): Promise<void> {
  if (!json) print(LETTER_LINE_HEADING);
  await log.read(spans, {
    signal,
    onLetters: (letters) => {
      for (const letter of letters) {
        if (isSelected(letter, selection)) print(json ? letterJson(letter) : letterLine(letter));
      }
    },
  });
}

async function listNewest(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { selection, limit, json, signal }: ListingOptions,
): Promise<void> {
  const newest = new Newest<string>(limit);
  const readsAll = looksInside(selection);
  await log.read(readsAll ? spans : newestSpans(spans, limit), {
    signal,
    onLetters: (letters) => {
      for (const letter of letters.filter((one) => isSelected(one, selection))) {
        newest.offer(letter, json ? letterJson(letter) : letterLine(letter));
      }
    },
  });
  if (signal.aborted) return;
  const lines = newest.inOrder();
  if (!json && lines.length > 0) print(LETTER_LINE_HEADING);
  lines.forEach(print);
  if (!json) print(closingLine(lines.length, readsAll ? newest.offered : lengthOf(spans)));
}

function closingLine(shown: number, total: number): string {
  if (shown === 0) return 'no dead letters';
  if (shown >= total) return `${shown} dead letter${shown === 1 ? '' : 's'}`;
  return `the newest ${shown} of ${total} dead letters; --limit N or --all shows more`;
}
