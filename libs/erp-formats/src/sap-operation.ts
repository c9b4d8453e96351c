import {
  parsed,
  rejected,
  type OrderOperation,
  type OrderStatus,
  type Parsed,
} from '#libs/contracts';

import { epochSecondsOf } from './local-time.js';
import { elements, textOf, type XmlElement } from './read-xml.js';
import { statusOf, statusWithin } from './sap-status.js';
import { readSapTime } from './sap-time.js';

/** What the order's header says for all of its operations. */
export interface OrderFrame {
  orderId: string;
  status: OrderStatus;
  plant: string | undefined;
  timeZone: string;
}

type OperationIdentity = Pick<OrderOperation, 'operationId' | 'status'> & { workCentre: string };

/** Segment message function: the object was deleted in the ERP. */
const DELETED = '003';

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['FSAVD', 'FSAVZ'],
  ['SSAVD', 'SSAVZ'],
] as const;

/** An E1AFVOL and those of its sub-operations that are work for another work centre. */
export function readWithSubOperations(
  segment: XmlElement,
  frame: OrderFrame,
): Parsed<OrderOperation[]> {
  const operationId = textOf(segment, 'VORNR');
  if (operationId === undefined) return missing('E1AFVOL', 'VORNR', `order ${frame.orderId}`);
  const workCentre = textOf(segment, 'ARBPL');
  if (workCentre === undefined) return missing('E1AFVOL', 'ARBPL', `operation ${operationId}`);
  const status = statusOfSegment(segment, 'E1JSTVL', frame.status, frame.status);
  const main = readSegment(segment, { operationId, workCentre, status }, frame);
  if (!main.ok) return main;
  const operations = [main.value];
  for (const subSegment of elements(segment, 'E1AFUVL')) {
    const elsewhere = textOf(subSegment, 'ARBPL');
    if (elsewhere === undefined || elsewhere === workCentre) continue;
    const sub = readSubOperation(subSegment, { operationId, workCentre: elsewhere, status }, frame);
    if (!sub.ok) return sub;
    operations.push(sub.value);
  }
  return parsed(operations);
}

function readSubOperation(
  segment: XmlElement,
  parent: OperationIdentity,
  frame: OrderFrame,
): Parsed<OrderOperation> {
  const number = textOf(segment, 'UVORN');
  if (number === undefined) return missing('E1AFUVL', 'UVORN', `operation ${parent.operationId}`);
  const identity = {
    operationId: `${parent.operationId}-${number}`,
    workCentre: parent.workCentre,
    status: statusOfSegment(segment, 'E1JSTUL', parent.status, frame.status),
  };
  return readSegment(segment, identity, frame);
}

function readSegment(
  segment: XmlElement,
  identity: OperationIdentity,
  frame: OrderFrame,
): Parsed<OrderOperation> {
  const plannedStart = readPlannedStart(segment, identity.operationId, frame.timeZone);
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

function readPlannedStart(
  segment: XmlElement,
  operationId: string,
  timeZone: string,
): Parsed<number | undefined> {
  for (const [dateField, timeField] of STARTS) {
    const start = readSapTime(textOf(segment, dateField), textOf(segment, timeField));
    if (start === 'invalid') {
      return rejected(
        'invalid-message',
        `operation ${operationId}: ${dateField} and ${timeField} are no date and time`,
      );
    }
    if (start !== 'absent') return parsed(epochSecondsOf(start, timeZone));
  }
  return parsed(undefined);
}

function statusOfSegment(
  segment: XmlElement,
  statusSegment: string,
  otherwise: OrderStatus,
  order: OrderStatus,
): OrderStatus {
  if (textOf(segment, 'MSGFN') === DELETED) return 'cancelled';
  const codes = elements(segment, statusSegment).map((entry) => textOf(entry, 'STAT') ?? '');
  return statusWithin(order, statusOf(codes) ?? otherwise);
}

function missing(segment: string, field: string, where: string): Parsed<never> {
  return rejected('invalid-message', `${segment} of ${where} has no ${field}`);
}
