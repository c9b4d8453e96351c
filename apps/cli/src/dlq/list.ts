import type { TopicSpan } from '#libs/kafka';
import { type CliCommand, JSON_OPTION } from '../command-line/command.js';
import { interruption } from '../command-line/interruption.js';
import { commandKafkaSettings } from '../command-line/kafka.js';
import { readLimit } from '../command-line/option-values.js';
import { print } from '../command-line/output.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { deadLetterTopics, internalDeadLetterTopics } from './dead-letter-topics.js';
import { lineFormat, type LineFormat } from './format-dead-letter.js';
import { Newest } from './newest.js';
import {
  isSelected,
  needsContent,
  newestSpans,
  offsetCount,
  selectedSpans,
  type Selection,
} from './selection.js';
import { topicCalled, withSelection } from './selection-options.js';
import { TopicSummary } from './topic-summary.js';

const DEFAULT_LIMIT = 50;

interface ListOptions extends Selection {
  limit?: number;
  all?: boolean;
  json?: boolean;
}

interface Listing {
  selection: Selection;
  signal: AbortSignal;
}

/** `dlq list [<topic>]`: counts by topic; with a topic or a number, dead letters, one a line. */
export function addListCommand(dlq: CliCommand): void {
  withSelection(dlq.command('list'))
    .argument('[topic]')
    .description(
      'Counts the dead letters of each input topic, and of those internal topics that have any. With a topic it lists ' +
        'the newest dead letters of that one; with --limit or --all and no topic, those of all topics.',
    )
    .option(
      '--limit <number>',
      `number of the newest dead letters; ${DEFAULT_LIMIT} of a topic unless given`,
      readLimit,
    )
    .option('--all', 'every dead letter, in the order of each topic')
    .option(...JSON_OPTION)
    .action(listDeadLetters);
}

async function listDeadLetters(name: string | undefined, options: ListOptions): Promise<void> {
  const { limit, all = false, json = false, ...selection } = options;
  const log = new DeadLetterLog(commandKafkaSettings());
  const listing = await log.topics();
  const [topics, internal] = [deadLetterTopics(listing), internalDeadLetterTopics(listing)];
  const signal = interruption();
  if (name === undefined && limit === undefined && !all) {
    await summarise(log, topics, internal, { selection, json, signal });
  } else {
    const namesTopics = name === undefined;
    const listed = namesTopics ? [...topics, ...internal] : [topicCalled(name, listing)];
    const spans = selectedSpans(await log.spans(...listed), selection);
    const format = lineFormat(spans, { json, namesTopics });
    if (all) await listAll(log, spans, format, { selection, signal });
    else await listNewest(log, spans, format, limit ?? DEFAULT_LIMIT, { selection, signal });
  }
  if (signal.aborted) throw new Error('stopped before everything was read');
}

/** Prints a summary of each topic; of the `internal` ones only of those that hold something. */
async function summarise(
  log: DeadLetterLog,
  topics: readonly string[],
  internal: readonly string[],
  { json, ...listing }: Listing & { json: boolean },
): Promise<void> {
  const all = [...topics, ...internal];
  const summaries = new Map(all.map((topic) => [topic, new TopicSummary(topic)]));
  await log.readSelected(await log.spans(...all), listing, (deadLetter) => {
    summaries.get(deadLetter.record.topic)?.add(deadLetter);
  });
  if (listing.signal.aborted) return;
  if (topics.length === 0 && !json) print('There are no dead-letter topics.');
  for (const [topic, summary] of summaries) {
    if (summary.isEmpty && internal.includes(topic)) continue;
    if (json) print(summary.json());
    else summary.lines().forEach(print);
  }
}

/** Prints dead letters while they are read: there may be any number. */
async function listAll(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { line, heading }: LineFormat,
  listing: Listing,
): Promise<void> {
  if (heading !== undefined) print(heading);
  await log.readSelected(spans, listing, (deadLetter) => {
    print(line(deadLetter));
  });
}

async function listNewest(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { line, heading }: LineFormat,
  limit: number,
  { selection, signal }: Listing,
): Promise<void> {
  // More offsets than dead letters: markers of transactions and aborted records have offsets, too.
  for (let offsets = needsContent(selection) ? Infinity : 2 * limit; ; offsets *= 8) {
    const newest = new Newest<string>(limit);
    const read = newestSpans(spans, offsets);
    const found = new Map<string, number>();
    await log.read(read, {
      signal,
      onBatch: (deadLetters) => {
        for (const deadLetter of deadLetters) {
          if (isSelected(deadLetter, selection)) newest.offer(deadLetter, line(deadLetter));
          const partition = partitionKey(deadLetter.record);
          found.set(partition, (found.get(partition) ?? 0) + 1);
        }
      },
    });
    if (signal.aborted) return;
    const isAll = offsetCount(read) === offsetCount(spans);
    const isEnough = read.every((span, index) => {
      return span.from === spans[index]?.from || (found.get(partitionKey(span)) ?? 0) >= limit;
    });
    if (!isAll && !isEnough) continue;
    printNewest(newest, isAll ? newest.offered : undefined, heading);
    return;
  }
}

function partitionKey({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`;
}

/** @param total undefined unless all were read */
function printNewest(
  newest: Newest<string>,
  total: number | undefined,
  heading: string | undefined,
): void {
  const lines = newest.inOrder();
  if (heading !== undefined && lines.length > 0) print(heading);
  lines.forEach(print);
  if (heading !== undefined) print(closingLine(lines.length, total));
}

function closingLine(shown: number, total: number | undefined): string {
  if (shown === 0) return 'no dead letters';
  if (shown === total) return `${shown} dead letter${shown === 1 ? '' : 's'}`;
  const all = total === undefined ? '' : ` of ${total}`;
  return `the newest ${shown}${all} dead letters; --limit N or --all shows more`;
}
