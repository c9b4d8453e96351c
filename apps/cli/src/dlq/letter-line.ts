import { rfc3339 } from '#libs/contracts';
import { machineIdsOf, placeOf, type StoredLetter } from './stored-letter.js';
import { visible, visibleJson } from '../command-line/visible-text.js';

const WIDTHS = { place: 17, failedAt: 21, code: 20, machine: 14 };
const MAX_MACHINES_SHOWN = 3;
/** Of the machines in a line: a key, which stands for the machine where none is named, may be as long as a message. */
const MAX_MACHINES_LENGTH = 100;
/** The last second a Date can hold. */
const LAST_SECOND = 8_640_000_000_000;

export const LETTER_LINE_HEADING = columns(
  'partition/offset',
  'failed',
  'code',
  'machine',
  'detail',
);

/** One letter on one line, for a terminal. */
export function letterLine(letter: StoredLetter): string {
  const { fields, failedAt, replayedAt } = letter;
  const replayed = replayedAt === undefined ? '' : ` [replayed ${timeText(replayedAt)}]`;
  return columns(
    placeOf(letter),
    timeText(failedAt),
    fields.code ?? '(no code)',
    cut(machinesText(machineIdsOf(letter)), MAX_MACHINES_LENGTH),
    `${fields.detail ?? ''}${replayed}`,
  );
}

/** One letter on one line, for a program. */
export function letterJson(letter: StoredLetter): string {
  const { record, fields, failedAt, replayedAt = null } = letter;
  const { topic, partition, offset, value } = record;
  return visibleJson({
    topic,
    partition,
    offset,
    ...fields,
    failedAt,
    machineIds: machineIdsOf(letter),
    key: record.key?.toString() ?? null,
    valueBytes: value?.length ?? null,
    replayedAt,
  });
}

/** RFC 3339; a number where somebody wrote what is no time. */
export function timeText(epochSeconds: number): string {
  return Math.abs(epochSeconds) <= LAST_SECOND ? rfc3339(epochSeconds) : String(epochSeconds);
}

export function machinesText(machineIds: readonly string[]): string {
  const more = machineIds.length - MAX_MACHINES_SHOWN;
  const shown = machineIds.slice(0, MAX_MACHINES_SHOWN).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}...` : text;
}

function columns(
  place: string,
  failedAt: string,
  code: string,
  machine: string,
  detail: string,
): string {
  const line = [
    place.padEnd(WIDTHS.place),
    failedAt.padEnd(WIDTHS.failedAt),
    visible(code).padEnd(WIDTHS.code),
    visible(machine).padEnd(WIDTHS.machine),
    visible(detail),
  ];
  return line.join(' ').trimEnd();
}
