import {
  epochSecondsOf,
  type OrderMessage,
  type OrderOperation,
  type OrderStatus,
  type OrderVersion,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
  type SourceSequence,
  utcSeconds,
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
import { readLocalTime } from '../time/local-time.js';
import { snapshotMessage } from '../document/checked-message.js';
import {
  operationIdOf,
  orderNumber,
  statusOf,
  withoutDeletedNamesakes,
} from '../sap/sap-values.js';
import { statusWithin } from '../document/status-within.js';

/** The five releases of the basic type differ in fields that are not read here. */
const BASIC_TYPE = /^LOIPRO\d{2}$/;
const MESSAGE_TYPE = 'LOIPRO';
/** MSGFN of a segment whose object was deleted in the ERP. */
const DELETED = '003';

export const sapIdoc: OrderFormat = {
  name: 'SAP LOIPRO01 to LOIPRO05 IDoc XML',
  mediaTypes: ['application/idoc+xml', 'application/x-sap.idoc'],
  recognises: ({ root }) => root !== undefined && isOrderDocument(root),
  read: ({ root }, context) =>
    root === undefined
      ? rejected('invalid-message', 'an IDoc is XML')
      : readSapOrders(root, context),
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
  E1AFFLL: { PLNFL: 'text', MSGFN: 'text', E1AFVOL: 'elements' },
  E1AFVOL: { ...OPERATION, VORNR: 'text', E1JSTVL: 'elements', E1AFUVL: 'elements' },
  E1JSTVL: STATUS,
  E1AFUVL: { ...OPERATION, UVORN: 'text', E1JSTUL: 'elements' },
  E1JSTUL: STATUS,
};

/** Length of a SERIAL that is date and time of the plant, as ECC writes it; S/4 writes UTC and six digits more. */
const LOCAL_SERIAL_LENGTH = 14;

/**
 * Reads which state of the order an IDoc describes. SERIAL starts with the time of serialisation and counts
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
    return missing(idoc, 'EDI_DC40');
  }
  const serial = textOf(control, 'SERIAL') ?? '';
  const serialised = readLocalTime(serial.slice(0, 8), serial.slice(8, 14));
  const number = sequenceOf('DOCNUM', control);
  if (typeof serialised === 'object') {
    const isLocal = serial.length === LOCAL_SERIAL_LENGTH;
    const changedAt = isLocal ? epochSecondsOf(serialised, timeZone) : utcSeconds(serialised);
    return parsed(version(changedAt, sequenceOf('SERIAL', control)));
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
  if (orderId === undefined) return missing(header, 'AUFNR');
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

/** What the order's header says for all of its operations. */
interface OrderFrame {
  status: OrderStatus;
  plant: string | undefined;
  timeZone: string;
}

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['FSAVD', 'FSAVZ'],
  ['SSAVD', 'SSAVZ'],
] as const;

/**
 * Operations (E1AFVOL) of all sequences (E1AFFLL) in document order, each followed by those of its
 * sub-operations (E1AFUVL) that are done at another work centre; the rest are part of their operation.
 */
function readSapOperations(
  sequences: readonly DocumentElement[],
  frame: OrderFrame,
): Parsed<OrderOperation[]> {
  const operations: OrderOperation[] = [];
  for (const sequence of sequences) {
    const number = textOf(sequence, 'PLNFL');
    const isDeleted = textOf(sequence, 'MSGFN') === DELETED;
    const found = parsedEach(elements(sequence, 'E1AFVOL'), (segment) =>
      readWithSubOperations(segment, isDeleted ? { ...frame, status: 'cancelled' } : frame),
    );
    if (!found.ok) return found;
    for (const operation of found.value.flat()) {
      const operationId = operationIdOf(operation.operationId, number);
      operations.push({ ...operation, operationId });
    }
  }
  return parsed(withoutDeletedNamesakes(operations));
}

/**
 * An E1AFVOL and those of its sub-operations that are work for another work centre. One without a work centre
 * is done elsewhere (control key PP02: by a supplier) and no work for a machine.
 */
function readWithSubOperations(
  segment: DocumentElement,
  frame: OrderFrame,
): Parsed<OrderOperation[]> {
  const operationId = textOf(segment, 'VORNR');
  if (operationId === undefined) return missing(segment, 'VORNR');
  const workCentre = workCentreOf(segment);
  const status = statusOfSegment(segment, 'E1JSTVL', frame.status, frame.status);
  const plant = textOf(segment, 'WERKS') ?? frame.plant;
  // what is within a deleted operation is deleted with it
  const within = { ...frame, plant, ...(status === 'cancelled' && { status }) };
  const found: [DocumentElement, OrderOperation][] = [];
  if (workCentre !== undefined) found.push([segment, { operationId, workCentre, status }]);
  for (const sub of elements(segment, 'E1AFUVL')) {
    const elsewhere = workCentreOf(sub);
    // work centres of several plants may have one name
    const isStep = elsewhere === workCentre && (textOf(sub, 'WERKS') ?? plant) === plant;
    if (elsewhere === undefined || isStep) continue;
    const number = textOf(sub, 'UVORN');
    if (number === undefined) return missing(sub, 'UVORN');
    const own = statusOfSegment(sub, 'E1JSTUL', status, within.status);
    const id = `${operationId}-${number}`;
    found.push([sub, { operationId: id, workCentre: elsewhere, status: own }]);
  }
  return parsedEach(found, ([each, operation]) => readOperation(each, operation, within));
}

/** LOIPRO01 has no name for it, only its object id; zeros are none. */
function workCentreOf(segment: DocumentElement): string | undefined {
  const objectId = textOf(segment, 'ARBID') ?? '';
  return textOf(segment, 'ARBPL') ?? (/^0*$/.test(objectId) ? undefined : objectId);
}

/** What a segment of either kind says of its operation beside its id, place and status. */
function readOperation(
  segment: DocumentElement,
  operation: OrderOperation,
  frame: OrderFrame,
): Parsed<OrderOperation> {
  const plannedStart = readPlannedStart(segment, frame.timeZone);
  if (!plannedStart.ok) return plannedStart;
  const plant = textOf(segment, 'WERKS') ?? frame.plant;
  if (plant !== undefined) operation.plant = plant;
  const sequence = Number(textOf(segment, 'CY_SEQNRV') ?? 0);
  // all zeros: nobody sequenced it
  if (Number.isSafeInteger(sequence) && sequence > 0) operation.sequence = sequence;
  if (plannedStart.value !== undefined) operation.plannedStart = plannedStart.value;
  return parsed(operation);
}

function readPlannedStart(segment: DocumentElement, timeZone: string): Parsed<number | undefined> {
  for (const [dateField, timeField] of STARTS) {
    const start = readLocalTime(textOf(segment, dateField), textOf(segment, timeField));
    if (start === 'invalid') {
      const path = pathOf(segment, dateField);
      return rejected('invalid-message', `${path} and ${timeField} are no date and time`);
    }
    if (start !== 'absent') return parsed(epochSecondsOf(start, timeZone));
  }
  return parsed(undefined);
}

function statusOfSegment(
  segment: DocumentElement,
  statusSegment: string,
  otherwise: OrderStatus,
  order: OrderStatus,
): OrderStatus {
  if (textOf(segment, 'MSGFN') === DELETED) return 'cancelled';
  const codes = elements(segment, statusSegment).map((entry) => textOf(entry, 'STAT') ?? '');
  return statusWithin(order, statusOf(codes) ?? otherwise);
}

function missing(segment: DocumentElement, field: string): Parsed<never> {
  return rejected('invalid-message', `${pathOf(segment, field)} is missing`);
}
