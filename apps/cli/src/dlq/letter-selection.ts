import { type RejectionCode } from '#libs/contracts';
import { type TopicSpan } from '#libs/kafka';
import { machineIdsOf, type StoredLetter } from './stored-letter.js';

/** Which letters of a topic are meant: those to which everything that is given applies. */
export interface LetterSelection {
  code?: RejectionCode;
  machine?: string;
  partition?: number;
  offset?: number;
  /** Epoch seconds: failed then or later. */
  since?: number;
  /** Epoch seconds: failed before. */
  until?: number;
}

/** Whether a selection says anything about a letter beyond where it lies. */
export function looksInside({ code, machine, since, until }: LetterSelection): boolean {
  return [code, machine, since, until].some((criterion) => criterion !== undefined);
}

export function isSelected(letter: StoredLetter, selection: LetterSelection): boolean {
  const { code, machine, partition, offset, since, until } = selection;
  const { record, fields, failedAt } = letter;
  return (
    (code === undefined || fields.code === code) &&
    (partition === undefined || record.partition === partition) &&
    (offset === undefined || record.offset === offset) &&
    (since === undefined || failedAt >= since) &&
    (until === undefined || failedAt < until) &&
    // Last, because it may have to read the message.
    (machine === undefined || machineIdsOf(letter).includes(machine))
  );
}

/** The parts of a topic in which selected letters can lie. */
export function spansOfSelection(
  spans: readonly TopicSpan[],
  { partition, offset }: LetterSelection,
): TopicSpan[] {
  return spans
    .filter((span) => partition === undefined || span.partition === partition)
    .map((span) => (offset === undefined ? span : at(span, offset)));
}

/** The ends of a topic's partitions, in which its newest `count` letters lie. */
export function newestSpans(spans: readonly TopicSpan[], count: number): TopicSpan[] {
  return spans.map((span) => ({ ...span, from: Math.max(span.from, span.until - count) }));
}

/** How many records spans hold at most. */
export function lengthOf(spans: readonly TopicSpan[]): number {
  return spans.reduce((sum, { from, until }) => sum + Math.max(0, until - from), 0);
}

function at(span: TopicSpan, offset: number): TopicSpan {
  const isInside = offset >= span.from && offset < span.until;
  return { ...span, from: offset, until: isInside ? offset + 1 : offset };
}
