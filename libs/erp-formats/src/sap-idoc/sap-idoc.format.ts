import {
  type OrderMessage,
  type OrderStatus,
  type OrderVersion,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
  type SourceSequence,
} from '#libs/contracts';
import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { checkFields, type FieldRules } from '../xml/check-fields.js';
import {
  type DocumentElement,
  elements,
  onlyElement,
  pathOf,
  textOf,
} from '../xml/document-element.js';
import { epochSecondsOf, readLocalTime, utcSeconds } from '../time/local-time.js';
import { snapshotMessage } from '../document/checked-message.js';
import { orderNumber, statusOf } from '../sap/sap-values.js';
import { DELETED, readSapOperations } from './sap-operations.js';

/** The five releases of the basic type differ in fields that are not read here. */
const BASIC_TYPE = /^LOIPRO\d{2}$/;
const MESSAGE_TYPE = 'LOIPRO';

export const sapIdoc: OrderFormat = {
  name: 'SAP LOIPRO01 to LOIPRO05 IDoc XML',
  mediaTypes: ['application/idoc+xml', 'application/x-sap.idoc'],
  recognises: (content) => content.syntax === 'xml' && isOrderDocument(content.root),
  read: (content, context) =>
    content.syntax === 'xml'
      ? readSapOrders(content.root, context)
      : rejected('invalid-message', 'an IDoc is XML'),
};

/** By its root, or, for an extended type under a name of its own, by the message type of its control record. */
function isOrderDocument(root: DocumentElement): boolean {
  if (BASIC_TYPE.test(root.name)) return true;
  return elements(root, 'IDOC')
    .flatMap((idoc) => elements(idoc, 'EDI_DC40'))
    .some((control) => textOf(control, 'MESTYP') === MESSAGE_TYPE);
}

/** All orders of all IDocs in the document. */
function readSapOrders(root: DocumentElement, context: ReadingContext): Parsed<OrderMessage[]> {
  const idocs = parsedEach(elements(root, 'IDOC'), (idoc) => {
    const checked = checkFields(idoc, IDOC_FIELDS);
    if (!checked.ok) return checked;
    const version = readControlRecord(idoc, context);
    if (!version.ok) return version;
    return parsedEach(elements(idoc, 'E1AFKOL'), (header) =>
      readSapOrder(header, version.value, context.timeZone),
    );
  });
  if (!idocs.ok) return idocs;
  const messages = idocs.value.flat();
  if (messages.length > 0) return parsed(messages);
  return rejected('invalid-message', `${pathOf(root, 'IDOC', 'E1AFKOL')} is missing`);
}

const OPERATION = {
  MSGFN: 'text',
  ARBPL: 'text',
  ARBID: 'text',
  WERKS: 'text',
  CY_SEQNRV: 'text',
  FSAVD: 'text',
  FSAVZ: 'text',
  SSAVD: 'text',
  SSAVZ: 'text',
} as const;
const STATUS = { STAT: 'text' } as const;

/** Fields that are read. A segment has each of them once; it is segments that repeat. */
const IDOC_FIELDS: FieldRules = {
  IDOC: { EDI_DC40: 'element', E1AFKOL: 'elements' },
  EDI_DC40: {
    SERIAL: 'text',
    CREDAT: 'text',
    CRETIM: 'text',
    DOCNUM: 'text',
    SNDPRN: 'text',
  },
  E1AFKOL: {
    AUFNR: 'text',
    WERKS: 'text',
    MSGFN: 'text',
    E1JSTKL: 'elements',
    E1AFFLL: 'elements',
  },
  E1JSTKL: STATUS,
  E1AFFLL: { PLNFL: 'text', E1AFVOL: 'elements' },
  E1AFVOL: { ...OPERATION, VORNR: 'text', E1JSTVL: 'elements', E1AFUVL: 'elements' },
  E1JSTVL: STATUS,
  E1AFUVL: { ...OPERATION, UVORN: 'text', E1JSTUL: 'elements' },
  E1JSTUL: STATUS,
};

/**
 * Reads which state of the order an IDoc describes. SERIAL starts with the time of serialisation in UTC and counts
 * on from there, DOCNUM counts the IDocs of a client. What has no time of its own, as where an integration
 * has left the control record out, is as old as its message. A time that is none is refused: dated by its message, an
 * old state of the order would outrank all that is known. CREDAT and CRETIM are times of the plant.
 */
function readControlRecord(
  idoc: DocumentElement,
  { timeZone, recordedAt }: ReadingContext,
): Parsed<OrderVersion> {
  const control = onlyElement(idoc, 'EDI_DC40');
  if (control === undefined) {
    if (recordedAt !== undefined) return parsed({ changedAt: recordedAt });
    return rejected('invalid-message', `${pathOf(idoc, 'EDI_DC40')} is missing`);
  }
  const serial = textOf(control, 'SERIAL') ?? '';
  const serialised = readLocalTime(serial.slice(0, 8), serial.slice(8, 14));
  const number = sequenceOf('DOCNUM', control);
  if (typeof serialised === 'object') {
    return parsed(version(utcSeconds(serialised), sequenceOf('SERIAL', control)));
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
function sequenceOf(
  field: 'SERIAL' | 'DOCNUM',
  control: DocumentElement,
): SourceSequence | undefined {
  const value = textOf(control, field) ?? '';
  if (!/^\d{1,20}$/.test(value) || /^0+$/.test(value)) return undefined;
  return { counter: `${field} of ${textOf(control, 'SNDPRN') ?? ''}`, value };
}

function version(changedAt: number, fence: SourceSequence | undefined): OrderVersion {
  return fence === undefined ? { changedAt } : { changedAt, fence };
}

/** One E1AFKOL, an order with its sequences and operations, as a snapshot. */
function readSapOrder(
  header: DocumentElement,
  version: OrderVersion,
  timeZone: string,
): Parsed<OrderMessage> {
  const orderId = orderNumber(textOf(header, 'AUFNR'));
  if (orderId === undefined) {
    return rejected('invalid-message', `${pathOf(header, 'AUFNR')} is missing`);
  }
  const status = statusOfHeader(header);
  const frame = { status, plant: textOf(header, 'WERKS'), timeZone };
  const operations = readSapOperations(elements(header, 'E1AFFLL'), frame);
  if (!operations.ok) return operations;
  const order = { orderId, ...version, status, operations: operations.value };
  return snapshotMessage(() => pathOf(header), order);
}

function statusOfHeader(header: DocumentElement): OrderStatus {
  if (textOf(header, 'MSGFN') === DELETED) return 'cancelled';
  const codes = elements(header, 'E1JSTKL').map((segment) => textOf(segment, 'STAT') ?? '');
  // an order that does not say it is released is not
  return statusOf(codes) ?? 'planned';
}
