import { Option } from 'commander';
import { REJECTION_CODES, type RejectionCode } from '#libs/contracts';
import type { TopicSpan } from '#libs/kafka';
import type { CliCommand } from '../command-line/command.js';
import { KAFKA_HELP } from '../command-line/kafka.js';
import { readCount, readNotEmpty, readTime } from '../command-line/option-values.js';
import { type DeadLetter, machineIdsOf } from './dead-letter.js';

/** Criteria for dead letters of a topic. All present ones must apply. */
export interface Selection {
  code?: RejectionCode;
  machine?: string;
  partition?: number;
  offset?: number;
  /** Epoch seconds: failed at this time or later. */
  since?: number;
  /** Epoch seconds: failed before. */
  until?: number;
}

/** Whether a selection has criteria other than the position, so that every record has to be read. */
export function needsContent({ code, machine, since, until }: Selection): boolean {
  return [code, machine, since, until].some((criterion) => criterion !== undefined);
}

export function isSelected(deadLetter: DeadLetter, selection: Selection): boolean {
  const { code, machine, partition, offset, since, until } = selection;
  const { record, fields, failedAt } = deadLetter;
  return (
    (code === undefined || fields.code === code) &&
    (partition === undefined || record.partition === partition) &&
    (offset === undefined || record.offset === offset) &&
    (since === undefined || failedAt >= since) &&
    (until === undefined || failedAt < until) &&
    // last, because it may parse the message
    (machine === undefined || machineIdsOf(deadLetter).includes(machine))
  );
}

export function selectedSpans(
  spans: readonly TopicSpan[],
  { partition, offset }: Selection,
): TopicSpan[] {
  return spans
    .filter((span) => partition === undefined || span.partition === partition)
    .map((span) => (offset === undefined ? span : spanOfOffset(span, offset)));
}

/** The last `count` offsets of each partition. */
export function newestSpans(spans: readonly TopicSpan[], count: number): TopicSpan[] {
  return spans.map((span) => ({ ...span, from: Math.max(span.from, span.until - count) }));
}

/** Upper bound of the records in spans. */
export function offsetCount(spans: readonly TopicSpan[]): number {
  return spans.reduce((sum, { from, until }) => sum + Math.max(0, until - from), 0);
}

function spanOfOffset(span: TopicSpan, offset: number): TopicSpan {
  const isInside = offset >= span.from && offset < span.until;
  return { ...span, from: offset, until: isInside ? offset + 1 : offset };
}

const TOPIC_HELP = `
The topic is an input topic or its dead-letter topic, with or without KAFKA_TOPIC_PREFIX. A dead letter must
match all options that are given.
${KAFKA_HELP}`;

/** Adds the options that select dead letters; their names are the fields of a Selection. */
export function withSelection(command: CliCommand): CliCommand {
  return command
    .addOption(new Option('--code <code>', 'rejected with this code').choices(REJECTION_CODES))
    .option('--machine <machineId>', 'concerns this machine', readNotEmpty)
    .option('--partition <number>', 'in this partition', readCount)
    .option('--offset <number>', 'at this offset', readCount)
    .option('--since <time>', 'failed then or later: RFC 3339 or epoch seconds', readTime)
    .option('--until <time>', 'failed before: RFC 3339 or epoch seconds', readTime)
    .addHelpText('after', TOPIC_HELP);
}
