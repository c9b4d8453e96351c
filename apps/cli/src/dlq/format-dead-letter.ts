import { type MessageHeaders, originalHeaders, readJson, rfc3339 } from '#libs/contracts';
import type { TopicSpan } from '#libs/kafka';
import { visible, visibleJson, visibleLines } from '../command-line/output.js';
import { type DeadLetter, machineIdsOf, positionOf } from './dead-letter.js';
import { offsetCount } from './selection.js';

/** Position, time, code, machine or key; the detail follows in any width. */
const COLUMN_WIDTHS = [17, 21, 20, 14];
const MAX_MACHINES_SHOWN = 3;
/** Characters for machines on a line: a key, which replaces a missing machineId, may have a megabyte. */
const MAX_MACHINES_LENGTH = 100;
/** The last second that a Date represents. */
const LAST_SECOND = 8_640_000_000_000;
const MAX_HEADER_LINES = 100;
const MAX_TEXT_LENGTH = 1000;
const MAX_SHOWN_BYTES = 64 * 1024;
const HEX_DUMP_BYTES_A_LINE = 16;

export const LINE_HEADING = columns(
  'partition/offset',
  'failed',
  'code',
  'machine or key',
  'detail',
);

export interface LineFormat {
  line: (deadLetter: DeadLetter) => string;
  /** Undefined for JSON. */
  heading?: string;
}

/** @param namesTopics each line begins with the topic */
export function lineFormat(
  spans: readonly TopicSpan[],
  { json, namesTopics }: { json: boolean; namesTopics: boolean },
): LineFormat {
  if (json) return { line: formatJson };
  if (!namesTopics) return { line: formatLine, heading: LINE_HEADING };
  const lengths = spans.filter((span) => offsetCount([span]) > 0).map(({ topic }) => topic.length);
  const width = Math.max('topic'.length, ...lengths);
  return {
    line: (deadLetter) => `${deadLetter.record.topic.padEnd(width)}  ${formatLine(deadLetter)}`,
    heading: `${'topic'.padEnd(width)}  ${LINE_HEADING}`,
  };
}

export function formatLine(deadLetter: DeadLetter): string {
  const { fields, failedAt, replayedAt } = deadLetter;
  const machines = machinesText(machineIdsOf(deadLetter));
  const isLong = machines.length > MAX_MACHINES_LENGTH;
  const replayed = replayedAt === undefined ? '' : ` [replayed ${timeText(replayedAt)}]`;
  return columns(
    positionOf(deadLetter),
    timeText(failedAt),
    fields.code ?? '(no code)',
    isLong ? `${machines.slice(0, MAX_MACHINES_LENGTH)}...` : machines,
    `${fields.detail ?? ''}${replayed}`,
  );
}

function columns(...cells: string[]): string {
  const padded = cells.map((cell, index) => visible(cell).padEnd(COLUMN_WIDTHS[index] ?? 0));
  return padded.join(' ').trimEnd();
}

function machinesText(machineIds: readonly string[]): string {
  const more = machineIds.length - MAX_MACHINES_SHOWN;
  const shown = machineIds.slice(0, MAX_MACHINES_SHOWN).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** RFC 3339; the number where it is beyond any date. */
export function timeText(epochSeconds: number): string {
  return Math.abs(epochSeconds) <= LAST_SECOND ? rfc3339(epochSeconds) : String(epochSeconds);
}

export function formatJson(deadLetter: DeadLetter): string {
  return visibleJson(summaryOf(deadLetter));
}

/** One line of JSON with the message; bytes as base64. */
export function formatJsonInFull(deadLetter: DeadLetter): string {
  const { headers, key, value } = deadLetter.record;
  return visibleJson({
    ...summaryOf(deadLetter),
    headers: originalHeaders(headers).map(([name, header]) => [
      textOf(Buffer.from(name)),
      header === null ? null : textOf(Buffer.from(header)),
    ]),
    keyBase64: key?.toString('base64') ?? null,
    valueBase64: value?.toString('base64') ?? null,
  });
}

function summaryOf(deadLetter: DeadLetter): object {
  const { record, fields, failedAt, replayedAt = null } = deadLetter;
  const { topic, partition, offset, value } = record;
  return {
    topic,
    partition,
    offset,
    ...fields,
    failedAt,
    machineIds: machineIdsOf(deadLetter),
    key: record.key?.toString() ?? null,
    valueBytes: value?.length ?? null,
    replayedAt,
  };
}

export function formatInFull(deadLetter: DeadLetter): string[] {
  const { record } = deadLetter;
  const { heading, lines } = showValue(record.value);
  return [
    `${record.topic} ${positionOf(deadLetter)}`,
    ...facts(deadLetter).map(([name, text]) => `  ${name.padEnd(10)}${visible(text)}`),
    ...headerLines(record.headers).map((line) => `  ${line}`),
    `  ${heading}`,
    ...lines.map((line) => `    ${line}`),
  ];
}

function facts(deadLetter: DeadLetter): [name: string, text: string][] {
  const { record, fields, failedAt, replayedAt } = deadLetter;
  const { attempts = 0, httpStatus } = fields;
  const status = httpStatus === undefined ? '' : `, the last one HTTP ${httpStatus}`;
  return [
    ['why', `${fields.code ?? '(no code)'}: ${fields.detail ?? ''}`],
    ['failed', timeText(failedAt)],
    ['calls', `${attempts}${status}`],
    ['machine', machineIdsOf(deadLetter).join(', ')],
    ['source', sourceText(deadLetter)],
    ['replayed', replayedAt === undefined ? 'no' : timeText(replayedAt)],
    ['key', record.key === null ? '(none)' : shortText(record.key)],
  ];
}

function sourceText({ fields }: DeadLetter): string {
  const { sourceTopic, sourcePartition, sourceOffset, sourceTimestamp, valueOmittedBytes } = fields;
  if (sourceTopic === undefined) return '(not named)';
  const parts = [`${sourceTopic} ${sourcePartition ?? '?'}/${sourceOffset ?? '?'}`];
  if (sourceTimestamp !== undefined) {
    parts.push(`, written ${timeText(Math.floor(sourceTimestamp / 1000))}`);
  }
  if (valueOmittedBytes === 0) parts.push('; it was no longer there');
  else if (valueOmittedBytes !== undefined) {
    parts.push(`; its value of ${valueOmittedBytes} bytes is there alone`);
  }
  return parts.join('');
}

function headerLines(headers: MessageHeaders): string[] {
  const lines = originalHeaders(headers).map(([name, value]) => {
    const shown = value === null ? '(null)' : shortText(value);
    return `header    ${visible(shortText(name))}: ${visible(shown)}`;
  });
  const more = lines.length - MAX_HEADER_LINES;
  const rest = more > 0 ? [`header    and ${more} more`] : [];
  return [...lines.slice(0, MAX_HEADER_LINES), ...rest];
}

function shortText(value: Buffer | string): string {
  const bytes = Buffer.from(value);
  const shown = textOf(bytes);
  if (shown.length <= MAX_TEXT_LENGTH) return shown;
  return `${shown.slice(0, MAX_TEXT_LENGTH)}… (${bytes.length} bytes)`;
}

/** UTF-8 as text, other bytes as hex. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : `0x${bytes.toString('hex')}`;
}

/** Shows the first 64 kB of a value: JSON indented, other UTF-8 as text, the rest as a hex dump. */
export function showValue(value: Buffer | null): { heading: string; lines: string[] } {
  if (value === null) return { heading: 'no value', lines: [] };
  const isWhole = value.length <= MAX_SHOWN_BYTES;
  const shown = value.subarray(0, MAX_SHOWN_BYTES);
  const size = isWhole
    ? `${value.length} bytes`
    : `the first ${shown.length} of ${value.length} bytes (--raw writes all of them)`;
  const text = decode(shown, isWhole);
  if (text === undefined) return { heading: `value, binary, ${size}`, lines: hexDump(shown) };
  const json = isWhole ? indentedJson(value, text) : undefined;
  if (json !== undefined) return { heading: `value, JSON, ${size}`, lines: visibleLines(json) };
  return { heading: `value, text, ${size}`, lines: visibleLines(text) };
}

/** Decodes UTF-8. The last character of a truncated value may be incomplete. */
function decode(bytes: Buffer, isWhole: boolean): string | undefined {
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return decoder.decode(bytes, { stream: !isWhole });
  } catch {
    return undefined;
  }
}

/**
 * Undefined where indenting would change the content: parsing drops repeated fields and digits of large numbers, which
 * may be the fault of the message.
 */
function indentedJson(value: Buffer, text: string): string | undefined {
  const json = readJson(value);
  // for a string without an end, the regular expression would search from each quote
  if (!json.ok) return undefined;
  const compact = text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, (_, literal?: string) => {
    return literal ?? '';
  });
  if (JSON.stringify(json.value) !== compact) return undefined;
  return JSON.stringify(json.value, null, 2);
}

/** Offset, bytes and printable ASCII. */
function hexDump(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += HEX_DUMP_BYTES_A_LINE) {
    const some = bytes.subarray(start, start + HEX_DUMP_BYTES_A_LINE);
    const hex = some.toString('hex').replace(/..(?!$)/g, '$& ');
    const ascii = some.toString('latin1').replace(/[^ -~]/g, '.');
    const offset = start.toString(16).padStart(8, '0');
    lines.push(`${offset}  ${hex.padEnd(3 * HEX_DUMP_BYTES_A_LINE - 1)}  |${ascii}|`);
  }
  return lines;
}
