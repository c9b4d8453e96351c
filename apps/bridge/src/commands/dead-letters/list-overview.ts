import { print } from '../terminal.js';
import { type DeadLetterLog } from './dead-letter-log.js';
import { isSelected, type LetterSelection, spansOfSelection } from './letter-selection.js';
import { Overview } from './overview.js';

/** Prints what these topics hold, as a whole. */
export async function listOverview(
  log: DeadLetterLog,
  topics: readonly string[],
  options: { selection: LetterSelection; json: boolean; signal: AbortSignal },
): Promise<void> {
  const { selection, json, signal } = options;
  const overviews = new Map(topics.map((topic) => [topic, new Overview(topic)]));
  const spans = (await Promise.all(topics.map((topic) => log.spans(topic)))).flat();
  await log.read(spansOfSelection(spans, selection), {
    signal,
    onLetters: (letters) => {
      for (const letter of letters) {
        if (isSelected(letter, selection)) overviews.get(letter.record.topic)?.add(letter);
      }
    },
  });
  if (signal.aborted) return;
  if (topics.length === 0 && !json) print('There are no dead-letter topics.');
  for (const overview of overviews.values()) {
    if (json) print(overview.json());
    else overview.lines().forEach(print);
  }
}
