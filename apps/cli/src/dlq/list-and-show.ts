import { REJECTION_CODES } from '#libs/contracts';
import type { TopicSpan } from '#libs/kafka';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { interruption } from '../command-line/interruption.js';
import { commandKafkaSettings } from '../command-line/kafka.js';
import { readLimit } from '../command-line/option-values.js';
import { counted, print, visibleJson } from '../command-line/output.js';
import { DeadLetterLog } from './dead-letter-log.js';
import {
  deadLetterTopics,
  findDeadLetterTopic,
  internalDeadLetterTopics,
} from './dead-letter-topics.js';
import { type DeadLetter, positionOf } from './dead-letter.js';
import {
  formatInFull,
  formatJsonInFull,
  lineFormat,
  type LineFormat,
  timeText,
} from './format-dead-letter.js';
import {
  isSelected,
  needsContent,
  newestSpans,
  offsetCount,
  selectedSpans,
  type Selection,
  withSelection,
} from './selection.js';

const DEFAULT_LISTED = 50;
/** Bounds the dead letters in memory. */
const MOST_LIMITED = 100_000;

interface ListOptions extends Selection, JsonOptions {
  limit?: number;
  all?: boolean;
}

interface Listing {
  selection: Selection;
  signal: AbortSignal;
}

export function addListCommand(dlq: CliCommand): void {
  withSelection(dlq.command('list'))
    .argument('[topic]')
    .description(
      'Counts the dead letters of each input topic, and of those internal topics that have any. With a topic it lists ' +
        'the newest dead letters of that one; with --limit or --all and no topic, those of all topics.',
    )
    .option(
      '--limit <number>',
      `number of the newest dead letters; ${DEFAULT_LISTED} of a topic unless given`,
      (text) => readLimit(text, MOST_LIMITED),
    )
    .option('--all', 'every dead letter, in the order of each topic')
    .option(...JSON_OPTION)
    .action(listDeadLetters);
}

async function listDeadLetters(name: string | undefined, options: ListOptions): Promise<void> {
  const { limit, all = false, json = false, ...selection } = options;
  const log = new DeadLetterLog(commandKafkaSettings());
  const listing = await log.listTopics();
  const [topics, internal] = [deadLetterTopics(listing), internalDeadLetterTopics(listing)];
  const signal = interruption();
  if (name === undefined && limit === undefined && !all) {
    await summarise(log, topics, internal, { selection, json, signal });
  } else {
    const namesTopics = name === undefined;
    const listed = namesTopics ? [...topics, ...internal] : [findDeadLetterTopic(name, listing)];
    const spans = selectedSpans(await log.spansOf(...listed), selection);
    const format = lineFormat(spans, { json, namesTopics });
    if (all) await listAll(log, spans, format, { selection, signal });
    else await listNewest(log, spans, format, limit ?? DEFAULT_LISTED, { selection, signal });
  }
  if (signal.aborted) throw new Error('stopped before everything was read');
}

/** Prints a summary of each topic, but of `internal` ones only if they are not empty. */
async function summarise(
  log: DeadLetterLog,
  topics: readonly string[],
  internal: readonly string[],
  { json, ...listing }: Listing & { json: boolean },
): Promise<void> {
  const all = [...topics, ...internal];
  const summaries = new Map(all.map((topic) => [topic, new TopicSummary(topic)]));
  await log.readSelected(await log.spansOf(...all), listing, (deadLetter) => {
    summaries.get(deadLetter.record.topic)?.countDeadLetter(deadLetter);
  });
  if (listing.signal.aborted) return;
  if (topics.length === 0 && !json) {
    print('There are no dead-letter topics: see KAFKA_TOPIC_PREFIX.');
  }
  for (const [topic, summary] of summaries) {
    if (summary.isEmpty && internal.includes(topic)) continue;
    if (json) print(summary.jsonLine());
    else summary.textLines().forEach(print);
  }
}

/** Prints dead letters while reading, because their number is not bounded. */
async function listAll(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { line, heading }: LineFormat,
  listing: Listing,
): Promise<void> {
  if (heading !== undefined) print(heading);
  await log.readSelected(spans, listing, (deadLetter) => print(line(deadLetter)));
}

async function listNewest(
  log: DeadLetterLog,
  spans: readonly TopicSpan[],
  { line, heading }: LineFormat,
  limit: number,
  { selection, signal }: Listing,
): Promise<void> {
  // twice the limit, because transaction markers and aborted records have offsets too
  for (let offsets = needsContent(selection) ? Infinity : 2 * limit; ; offsets *= 8) {
    const newest = new Newest<string>(limit);
    const read = newestSpans(spans, offsets);
    const found = new Map<string, number>();
    await log.readWithMarks(read, {
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

/** @param total undefined unless all have been read */
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
  if (shown === total) return counted(shown, 'dead letter');
  const all = total === undefined ? '' : ` of ${total}`;
  return `the newest ${shown}${all} dead letters; --limit N or --all shows more`;
}

/** Collects codes of other programs, whose number is not bounded. */
const OTHER = 'other';

export class TopicSummary {
  private readonly byCode = new Map<string, number>();
  private count = 0;
  private replayed = 0;
  private oldest = Infinity;
  private newest = -Infinity;

  constructor(private readonly topic: string) {}

  countDeadLetter({ fields, failedAt, replayedAt }: DeadLetter): void {
    const code = REJECTION_CODES.find((known) => known === fields.code) ?? OTHER;
    this.count += 1;
    this.byCode.set(code, (this.byCode.get(code) ?? 0) + 1);
    if (replayedAt !== undefined) this.replayed += 1;
    this.oldest = Math.min(this.oldest, failedAt);
    this.newest = Math.max(this.newest, failedAt);
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  textLines(): string[] {
    const { topic, count, replayed } = this;
    if (this.isEmpty) return [`${topic}: no dead letters`];
    return [
      `${topic}: ${counted(count, 'dead letter')}, ${replayed} replayed, ` +
        `the oldest of ${timeText(this.oldest)}, the newest of ${timeText(this.newest)}`,
      ...this.countsByCode().map(([code, times]) => `  ${String(times).padStart(8)}  ${code}`),
    ];
  }

  jsonLine(): string {
    const { topic, count, replayed } = this;
    const byCode = Object.fromEntries(this.countsByCode());
    const [oldest, newest] = this.isEmpty ? [null, null] : [this.oldest, this.newest];
    return visibleJson({ topic, count, replayed, byCode, oldest, newest });
  }

  /** The most frequent first. */
  private countsByCode(): [code: string, times: number][] {
    return [...this.byCode].sort(([, a], [, b]) => b - a);
  }
}

const DEFAULT_SHOWN = 10;

interface ShowOptions extends Selection, JsonOptions {
  limit?: number;
  raw?: boolean;
}

export function addShowCommand(dlq: CliCommand): void {
  withSelection(dlq.command('show'))
    .argument('<topic>')
    .description(
      'Shows dead letters in full: cause, source, headers, and the first 64 kB of the value.',
    )
    .option(
      '--limit <number>',
      `of the newest dead letters; ${DEFAULT_SHOWN} unless given`,
      (text) => readLimit(text, MOST_LIMITED),
    )
    .option('--raw', 'writes the exact bytes of one value to stdout, and nothing else')
    .option(...JSON_OPTION)
    .action(showDeadLetters);
}

async function showDeadLetters(name: string, options: ShowOptions): Promise<void> {
  const { limit = DEFAULT_SHOWN, raw = false, json = false, ...selection } = options;
  const log = new DeadLetterLog(commandKafkaSettings());
  const topic = findDeadLetterTopic(name, await log.listTopics());
  const newest = new Newest<DeadLetter>(limit);
  const signal = interruption();
  await log.readSelected(await log.spansOf(topic), { selection, signal }, (deadLetter) => {
    newest.offer(deadLetter, deadLetter);
  });
  if (signal.aborted) throw new Error('stopped before everything was read');
  const shown = newest.inOrder();
  if (shown.length === 0) throw new Error(`no such dead letter on ${topic}`);
  if (raw) {
    writeValue(shown, newest.offered);
    return;
  }
  for (const deadLetter of shown) {
    if (json) print(formatJsonInFull(deadLetter));
    else formatInFull(deadLetter).forEach(print);
  }
  if (!json && newest.offered > shown.length) {
    print(`the newest ${shown.length} of ${newest.offered}; --limit N shows more`);
  }
}

function writeValue(shown: readonly DeadLetter[], found: number): void {
  const [deadLetter, ...others] = shown;
  if (deadLetter === undefined || others.length > 0) {
    const positions = shown.map(positionOf).join(', ');
    throw new Error(
      `--raw writes one value, and ${found} dead letters match (partition/offset: ${positions}); ` +
        'name one with --partition and --offset, or take the newest with --limit 1',
    );
  }
  process.stdout.write(deadLetter.record.value ?? '');
}

interface KeptItem<T> {
  failedAt: number;
  writtenAtMs: number;
  partition: number;
  offset: number;
  item: T;
}

/** Keeps an item for each of the dead letters that failed last. */
export class Newest<T> {
  /** Number of offered dead letters. */
  offered = 0;
  private kept: KeptItem<T>[] = [];

  constructor(private readonly limit: number) {}

  /** Keeps only the item, because messages may be large and many. */
  offer({ record, failedAt }: DeadLetter, item: T): void {
    const { partition, offset, timestamp } = record;
    this.offered += 1;
    this.kept.push({ failedAt, writtenAtMs: Number(timestamp), partition, offset, item });
    // sorts once for `limit` dead letters, because a topic may have millions
    if (this.kept.length >= 2 * this.limit) this.kept = this.sorted();
  }

  /** The items in order of time, the newest last. */
  inOrder(): T[] {
    return this.sorted().map(({ item }) => item);
  }

  private sorted(): KeptItem<T>[] {
    return this.kept.sort(byAge).slice(-this.limit);
  }
}

function byAge(a: KeptItem<unknown>, b: KeptItem<unknown>): number {
  return (
    a.failedAt - b.failedAt ||
    a.writtenAtMs - b.writtenAtMs ||
    a.partition - b.partition ||
    a.offset - b.offset
  );
}
