/** Codes of a rejection (`dlq-code`, outcome `code`): a closed list, part of the contract. */
export const REJECTION_CODES = [
  'invalid-json',
  'invalid-message',
  'unknown-machine',
  'unknown-reason',
  'missing-times',
  'start-after-end',
  'start-in-future',
  'too-large',
  'unmapped-work-centre',
  'rejected-by-service',
] as const;

export type RejectionCode = (typeof REJECTION_CODES)[number];

/**
 * Why an input message is not applied. `detail` is one short sentence for the person on call: at most 300 characters,
 * without control characters. `machineId` is present when the message at fault names exactly one readable machine.
 */
export interface Rejection {
  code: RejectionCode;
  detail: string;
  machineId?: string;
}

export interface Refused {
  ok: false;
  rejection: Rejection;
}

/** A parsed input: a typed value, which is not checked again, or a rejection. */
export type Parsed<T> = { ok: true; value: T } | Refused;

const MAX_DETAIL_LENGTH = 300;

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** Reads all items, or returns the first rejection. */
export function parsedEach<I, T>(items: Iterable<I>, read: (item: I) => Parsed<T>): Parsed<T[]> {
  const values: T[] = [];
  for (const item of items) {
    const each = read(item);
    if (!each.ok) return each;
    values.push(each.value);
  }
  return parsed(values);
}

export function rejected(code: RejectionCode, detail: string): Refused {
  return { ok: false, rejection: { code, detail: printable(detail) } };
}

/** Adds the machine at fault to a rejection, if its id could be read. */
export function withMachineId(refused: Refused, machineId: string | undefined): Refused {
  if (machineId === undefined) return refused;
  return { ok: false, rejection: { ...refused.rejection, machineId } };
}

/** Replaces characters that steer a terminal or cannot be encoded: details are written to headers and terminals. */
export function printable(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
  return clean.length <= MAX_DETAIL_LENGTH ? clean : `${truncate(clean)}…`;
}

function truncate(text: string): string {
  // a cut through a surrogate pair would leave half a character behind
  return text.slice(0, MAX_DETAIL_LENGTH - 1).replace(/\p{Cs}$/u, '');
}
