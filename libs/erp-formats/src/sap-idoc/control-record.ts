import { parsed, rejected, type OrderFence, type OrderVersion, type Parsed } from '#libs/contracts';

import { readLocalTime } from '../time/read-local-time.js';
import { epochSecondsOf, utcSeconds } from '../time/local-time.js';
import { onlyElement, pathOf, textOf, type DocumentElement } from '../xml/document-element.js';

export interface ControlRecordContext {
  /** IANA zone of CREDAT and CRETIM. */
  timeZone: string;
  /** Epoch seconds at which the message was written. */
  recordedAt: number | undefined;
}

/**
 * Reads which state of the order an IDoc describes. SERIAL starts with the time of serialisation in UTC and counts
 * on from there, DOCNUM counts the IDocs of a client. What has no time of its own, as where an integration
 * has left the control record out, is as old as its message. A time that is none is refused: dated by its message, an
 * old state of the order would outrank all that is known.
 */
export function readControlRecord(
  idoc: DocumentElement,
  { timeZone, recordedAt }: ControlRecordContext,
): Parsed<OrderVersion> {
  const control = onlyElement(idoc, 'EDI_DC40');
  if (control === undefined) {
    if (recordedAt !== undefined) return parsed({ changedAt: recordedAt });
    return rejected('invalid-message', `${pathOf(idoc, 'EDI_DC40')} is missing`);
  }
  const serial = textOf(control, 'SERIAL') ?? '';
  const serialised = readLocalTime(serial.slice(0, 8), serial.slice(8, 14));
  const number = fenceOf('DOCNUM', control);
  if (typeof serialised === 'object') {
    return parsed(version(utcSeconds(serialised), fenceOf('SERIAL', control)));
  }
  const created = readLocalTime(textOf(control, 'CREDAT'), textOf(control, 'CRETIM'));
  if (typeof created === 'object')
    return parsed(version(epochSecondsOf(created, timeZone), number));
  if (created === 'invalid') {
    const path = pathOf(control, 'CREDAT');
    return rejected('invalid-message', `${path} and CRETIM are no date and time`);
  }
  if (recordedAt !== undefined) return parsed(version(recordedAt, number));
  const path = pathOf(control, 'SERIAL');
  return rejected('invalid-message', `${path} is no time, and CREDAT does not stand in for it`);
}

/** Counters are those of a system: two of them may send the orders of one plant. */
function fenceOf(field: 'SERIAL' | 'DOCNUM', control: DocumentElement): OrderFence | undefined {
  const value = textOf(control, field) ?? '';
  if (!/^\d{1,20}$/.test(value) || /^0+$/.test(value)) return undefined;
  return { counter: `${field} of ${textOf(control, 'SNDPRN') ?? ''}`, value };
}

function version(changedAt: number, fence: OrderFence | undefined): OrderVersion {
  return fence === undefined ? { changedAt } : { changedAt, fence };
}
