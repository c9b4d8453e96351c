import { print } from '../command-line/terminal.js';
import { type DeadLetterLog } from './dead-letter-log.js';
import { isSelected, type LetterSelection, spansOfSelection } from './letter-selection.js';
import { Overview } from './overview.js';

export interface OverviewOptions {
  selection: LetterSelection;
  json: boolean;
  signal: AbortSignal;
}

/** Prints what these topics hold, as a whole; of those that are `internal` only what holds something. */
export async function listOverview(
  log: DeadLetterLog,
  topics: readonly string[],
  internal: readonly string[],
  { selection, json, signal }: OverviewOptions,
): Promise<void> {
  const all = [...topics, ...internal];
  const overviews = new Map(all.map((topic) => [topic, new Overview(topic)]));
  await log.read(spansOfSelection(await log.spans(...all), selection), {
    signal,
    onLetters: (letters) => {
      for (const letter of letters) {
        if (isSelected(letter, selection)) overviews.get(letter.record.topic)?.add(letter);
      }
    },
  });
  if (signal.aborted) return;
  if (topics.length === 0 && !json) print('There are no dead-letter topics.');
  for (const [topic, overview] of overviews) {
    if (overview.isEmpty && internal.includes(topic)) continue;
    if (json) print(overview.json());
    else overview.lines().forEach(print);
  }
}
