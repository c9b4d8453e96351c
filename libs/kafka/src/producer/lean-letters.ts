import { DEAD_LETTER_HEADERS, type MessageHeaders, printable } from '#libs/contracts';
import { type OutboundRecord } from './outbound-record.js';

/** Larger ones are left out of a letter that its topic has refused twice. */
const MAX_KEY_BYTES = 1024;
const MAX_MACHINE_IDS_BYTES = 8 * 1024;

/** A dead letter with all of its message: its headers, and then what the bridge says. */
export interface WholeLetter extends OutboundRecord {
  headers: MessageHeaders;
}

/** Of a dead letter that is too large for its topic: the same without the message's value. */
export function letterWithoutValue(whole: WholeLetter): OutboundRecord {
  const { valueOmitted } = DEAD_LETTER_HEADERS;
  return { ...whole, value: null, headers: [...whole.headers, [valueOmitted, omitted(whole)]] };
}

/**
 * Of one that is too large even without its value: what the bridge says, and of the message hardly more
 * than where it lies. A dozen kilobytes at most.
 *
 * @param why the headers the bridge has added
 */
export function leanLetter(
  whole: WholeLetter,
  why: Readonly<Record<string, string>>,
): OutboundRecord {
  const { detail, machineIds, valueOmitted } = DEAD_LETTER_HEADERS;
  const isKeyLong = Buffer.byteLength(whole.key ?? '') > MAX_KEY_BYTES;
  const areMachinesMany = Buffer.byteLength(why[machineIds] ?? '') > MAX_MACHINE_IDS_BYTES;
  const kept = Object.entries(why).filter(([name]) => !areMachinesMany || name !== machineIds);
  const lacks = [
    'headers',
    ...(isKeyLong ? ['key'] : []),
    ...(areMachinesMany ? ['machines at fault'] : []),
  ].join(', ');
  const headers = {
    ...Object.fromEntries(kept),
    // What it lacks comes first, because a long detail is cut.
    [detail]: printable(`without its ${lacks}; ${why[detail] ?? ''}`),
    [valueOmitted]: omitted(whole),
  };
  return { ...whole, key: isKeyLong ? null : whole.key, value: null, headers };
}

function omitted({ value }: OutboundRecord): string {
  return String(Buffer.byteLength(value ?? ''));
}
