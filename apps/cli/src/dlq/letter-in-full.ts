import { type MessageHeaders, originalHeaders } from '#libs/contracts';
import { timeText } from './letter-line.js';
import { showValue } from './show-value.js';
import { machineIdsOf, placeOf, type StoredLetter } from './stored-letter.js';
import { visible } from '../command-line/visible-text.js';

const MAX_HEADER_LINES = 100;
const MAX_TEXT_LENGTH = 1000;

/** All there is to say of a letter, for a terminal: why, where it came from, headers, value. */
export function letterInFull(letter: StoredLetter): string[] {
  const { record } = letter;
  const { heading, lines } = showValue(record.value);
  return [
    `${record.topic} ${placeOf(letter)}`,
    ...facts(letter).map(([name, text]) => `  ${name.padEnd(10)}${visible(text)}`),
    ...headerLines(record.headers).map((line) => `  ${line}`),
    `  ${heading}`,
    ...lines.map((line) => `    ${line}`),
  ];
}

function facts(letter: StoredLetter): [name: string, text: string][] {
  const { record, fields, failedAt, replayedAt } = letter;
  const { attempts = 0, httpStatus } = fields;
  const calls =
    httpStatus === undefined ? `${attempts}` : `${attempts}, the last one HTTP ${httpStatus}`;
  return [
    ['why', `${fields.code ?? '(no code)'}: ${fields.detail ?? ''}`],
    ['failed', timeText(failedAt)],
    ['calls', calls],
    ['machine', machineIdsOf(letter).join(', ')],
    ['source', source(letter)],
    ['replayed', replayedAt === undefined ? 'no' : timeText(replayedAt)],
    ['key', record.key === null ? '(none)' : readable(record.key)],
  ];
}

function source({ fields }: StoredLetter): string {
  const { sourceTopic, sourcePartition, sourceOffset, sourceTimestamp, valueOmittedBytes } = fields;
  if (sourceTopic === undefined) return '(not named)';
  const written =
    sourceTimestamp === undefined
      ? ''
      : `, written ${timeText(Math.floor(sourceTimestamp / 1000))}`;
  const omitted =
    valueOmittedBytes === undefined
      ? ''
      : `; its value of ${valueOmittedBytes} bytes is there alone`;
  return `${sourceTopic} ${sourcePartition ?? '?'}/${sourceOffset ?? '?'}${written}${omitted}`;
}

function headerLines(headers: MessageHeaders): string[] {
  const lines = originalHeaders(headers).map(([name, value]) => {
    const shown = value === null ? '(null)' : readable(value);
    return `header    ${visible(readable(name))}: ${visible(shown)}`;
  });
  const more = lines.length - MAX_HEADER_LINES;
  const rest = more > 0 ? [`header    and ${more} more`] : [];
  return [...lines.slice(0, MAX_HEADER_LINES), ...rest];
}

/** Text where it is UTF-8, else its bytes in hex; cut when it is long. */
function readable(value: Buffer | string): string {
  const bytes = Buffer.from(value);
  const text = bytes.toString();
  const shown = Buffer.from(text).equals(bytes) ? text : `0x${bytes.toString('hex')}`;
  if (shown.length <= MAX_TEXT_LENGTH) return shown;
  return `${shown.slice(0, MAX_TEXT_LENGTH)}… (${bytes.length} bytes)`;
}
