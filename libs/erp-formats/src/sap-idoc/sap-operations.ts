import {
  type OrderOperation,
  type OrderStatus,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import { statusWithin } from '../document/status-within.js';
import { operationIdOf, statusOf } from '../sap/sap-values.js';
import { epochSecondsOf, readLocalTime } from '../time/local-time.js';
import { type DocumentElement, elements, pathOf, textOf } from '../xml/document-element.js';

/** MSGFN of a segment whose object was deleted in the ERP. */
export const DELETED = '003';

/** What the order's header says for all of its operations. */
interface OrderFrame {
  status: OrderStatus;
  plant: string | undefined;
  timeZone: string;
}

type OperationIdentity = Pick<OrderOperation, 'operationId' | 'status'> & { workCentre: string };

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['FSAVD', 'FSAVZ'],
  ['SSAVD', 'SSAVZ'],
] as const;

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
  const operations: OrderOperation[] = [];
  if (workCentre !== undefined) {
    const main = readSegment(segment, { operationId, workCentre, status }, frame);
    if (!main.ok) return main;
    operations.push(main.value);
  }
  for (const subSegment of elements(segment, 'E1AFUVL')) {
    const elsewhere = workCentreOf(subSegment);
    const isStep = elsewhere === workCentre && isInPlantOf(segment, subSegment, frame);
    if (elsewhere === undefined || isStep) continue;
    const sub = readSubOperation(subSegment, { operationId, workCentre: elsewhere, status }, frame);
    if (!sub.ok) return sub;
    operations.push(sub.value);
  }
  return parsed(operations);
}

/** Work centres of several plants may have one name. */
function isInPlantOf(
  segment: DocumentElement,
  subSegment: DocumentElement,
  { plant }: OrderFrame,
): boolean {
  const own = textOf(segment, 'WERKS') ?? plant;
  return (textOf(subSegment, 'WERKS') ?? own) === own;
}

/** LOIPRO01 has no name for it, only its object id; zeros are none. */
function workCentreOf(segment: DocumentElement): string | undefined {
  const objectId = textOf(segment, 'ARBID') ?? '';
  return textOf(segment, 'ARBPL') ?? (/^0*$/.test(objectId) ? undefined : objectId);
}

function readSubOperation(
  segment: DocumentElement,
  parent: OperationIdentity,
  frame: OrderFrame,
): Parsed<OrderOperation> {
  const number = textOf(segment, 'UVORN');
  if (number === undefined) return missing(segment, 'UVORN');
  const identity = {
    operationId: `${parent.operationId}-${number}`,
    workCentre: parent.workCentre,
    status: statusOfSegment(segment, 'E1JSTUL', parent.status, frame.status),
  };
  return readSegment(segment, identity, frame);
}

function readSegment(
  segment: DocumentElement,
  identity: OperationIdentity,
  frame: OrderFrame,
): Parsed<OrderOperation> {
  const plannedStart = readPlannedStart(segment, frame.timeZone);
  if (!plannedStart.ok) return plannedStart;
  const operation: OrderOperation = { ...identity };
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

/**
 * Operations (E1AFVOL) of all sequences (E1AFFLL) in document order, each followed by those of its
 * sub-operations (E1AFUVL) that are done at another work centre; the rest are part of their operation.
 */
export function readSapOperations(
  sequences: readonly DocumentElement[],
  frame: OrderFrame,
): Parsed<OrderOperation[]> {
  const operations: OrderOperation[] = [];
  for (const sequence of sequences) {
    const number = textOf(sequence, 'PLNFL');
    const found = parsedEach(elements(sequence, 'E1AFVOL'), (segment) =>
      readWithSubOperations(segment, frame),
    );
    if (!found.ok) return found;
    for (const operation of found.value.flat()) {
      const operationId = operationIdOf(operation.operationId, number);
      operations.push({ ...operation, operationId });
    }
  }
  return parsed(operations);
}
