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
  missing,
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

/** The five releases of the basic type differ only in fields that are not read. */
const BASIC_TYPE = /^LOIPRO\d{2}$/;
const MESSAGE_TYPE = 'LOIPRO';
/** MSGFN of a deleted object. */
const DELETED = '003';

export const sapIdoc: OrderFormat = {
  name: 'SAP LOIPRO01 to LOIPRO05 IDoc XML',
  mediaTypes: ['application/idoc+xml', 'application/x-sap.idoc'],
  recognises: ({ root }) => root !== undefined && isOrderDocument(root),
  readMessages: ({ root }, context) =>
    root === undefined
      ? rejected('invalid-message', 'an IDoc is XML')
      : readSapOrders(root, context),
};

/** By the root, or by the message type of the control record where an extended type has its own root. */
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
  return missing(root, 'IDOC', 'E1AFKOL');
}

const texts = (...names: readonly string[]): Record<string, 'text'> =>
  Object.fromEntries(names.map((name) => [name, 'text']));

const STATUS = texts('STAT');
const OPERATION = {
  ...texts('MSGFN', 'ARBPL', 'ARBID', 'WERKS', 'CY_SEQNRV'),
  ...texts('FSAVD', 'FSAVZ', 'SSAVD', 'SSAVZ'),
};

/** Fields that are read. A segment has each of them once; only segments repeat. */
const IDOC_FIELDS: FieldRules = {
  IDOC: { EDI_DC40: 'element', E1AFKOL: 'elements' },
  EDI_DC40: texts('SERIAL', 'CREDAT', 'CRETIM', 'DOCNUM', 'SNDPRN'),
  E1AFKOL: { ...texts('AUFNR', 'WERKS', 'MSGFN'), E1JSTKL: 'elements', E1AFFLL: 'elements' },
  E1JSTKL: STATUS,
  E1AFFLL: { ...texts('PLNFL', 'MSGFN'), E1AFVOL: 'elements' },
  E1AFVOL: { ...OPERATION, VORNR: 'text', E1JSTVL: 'elements', E1AFUVL: 'elements' },
  E1JSTVL: STATUS,
  E1AFUVL: { ...OPERATION, UVORN: 'text', E1JSTUL: 'elements' },
  E1JSTUL: STATUS,
};

/** Length of a SERIAL in local time of the plant, as ECC writes it; S/4 writes UTC and six more digits. */
const LOCAL_SERIAL_LENGTH = 14;

/**
 * Reads the version of an IDoc's orders. SERIAL begins with the time of serialisation and counts on from it, DOCNUM
 * counts the IDocs of a client. CREDAT and CRETIM are local times of the plant. Without a time, as where an integration
 * leaves the control record out, the time of the record applies. An invalid time is refused: with the time of the
 * record, an old state of the order could supersede a newer one.
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

/** A counter belongs to a system: two systems may send orders of one plant. */
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

/** Reads an E1AFKOL, an order with its sequences and operations, as a snapshot. */
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
  // an order without a status of release is not released
  return statusOf(codes) ?? 'planned';
}

/** Values of the order's header that apply to its operations. */
interface OrderFrame {
  status: OrderStatus;
  plant: string | undefined;
  timeZone: string;
}

/** Scheduled starts in order of preference: earliest, then latest. */
const STARTS = [
  ['FSAVD', 'FSAVZ'],
  ['SSAVD', 'SSAVZ'],
] as const;

/**
 * Operations (E1AFVOL) of all sequences (E1AFFLL) in document order, each followed by its sub-operations (E1AFUVL) at
 * another work centre; those at the same work centre are steps of their operation.
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
 * Reads an E1AFVOL and its sub-operations at another work centre. An operation without a work centre is done elsewhere
 * (control key PP02: by a supplier) and is no work for a machine.
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
  // sub-operations of a deleted operation are deleted too
  const within = { ...frame, plant, ...(status === 'cancelled' && { status }) };
  const found: [DocumentElement, OrderOperation][] = [];
  if (workCentre !== undefined) found.push([segment, { operationId, workCentre, status }]);
  for (const sub of elements(segment, 'E1AFUVL')) {
    const elsewhere = workCentreOf(sub);
    // work centres of different plants may have the same name
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

/** The work centre's name or, as in LOIPRO01, its object id, in which zeros mean none. */
function workCentreOf(segment: DocumentElement): string | undefined {
  const objectId = textOf(segment, 'ARBID') ?? '';
  return textOf(segment, 'ARBPL') ?? (/^0*$/.test(objectId) ? undefined : objectId);
}

/** Adds plant, sequence and planned start to an operation, from a segment of either kind. */
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
  // zeros: not sequenced
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
