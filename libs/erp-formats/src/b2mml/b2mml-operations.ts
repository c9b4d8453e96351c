import { parsed, rejected, type OperationChange, type Parsed } from '#libs/contracts';

import { elements, pathOf, textOf, type DocumentElement } from '../xml/document-element.js';
import { placesOf } from './b2mml-place.js';
import { statusOfSegment } from './b2mml-status.js';
import { readDateTime } from './b2mml-time.js';
import { numberRepeats, type SegmentOperations } from './number-repeats.js';

const KINDS_OF_WORK = ['ProcessSegmentID', 'ProductSegmentID'] as const;

/**
 * Operations of an order: a job order is one at each of its places, any other order has one for each segment
 * that has a place. Work without a place is none for a machine.
 */
export function readB2mmlOperations(
  order: DocumentElement,
  timeZone: string,
): Parsed<OperationChange[]> {
  const start = readDateTime(order, 'StartTime', timeZone);
  if (!start.ok) return start;
  if (order.name === 'JobOrder') {
    return parsed(
      placesOf(order).map((place) =>
        timed({ operationId: place.workCentre, ...place }, start.value),
      ),
    );
  }
  const segments: SegmentOperations[] = [];
  for (const segment of segmentsIn(order)) {
    const found = readSegment(segment, timeZone, start.value);
    if (!found.ok) return found;
    segments.push(found.value);
  }
  return parsed(numberRepeats(segments));
}

/** Segments may be made of segments. */
function segmentsIn(element: DocumentElement): DocumentElement[] {
  return elements(element, 'SegmentRequirement').flatMap((segment) => [
    segment,
    ...segmentsIn(segment),
  ]);
}

function readSegment(
  segment: DocumentElement,
  timeZone: string,
  startOfOrder: number | undefined,
): Parsed<SegmentOperations> {
  const places = placesOf(segment);
  const ownId = textOf(segment, 'ID');
  const isNamed = ownId !== undefined;
  if (places.length === 0) return parsed({ isNamed, operations: [] });
  const id = ownId ?? KINDS_OF_WORK.map((name) => textOf(segment, name)).find(Boolean);
  if (id === undefined) return rejected('invalid-message', `${pathOf(segment, 'ID')} is missing`);
  const start = readDateTime(segment, 'EarliestStartTime', timeZone);
  if (!start.ok) return start;
  const status = statusOfSegment(segment);
  const operations = places.map((place) => {
    const operationId = places.length === 1 ? id : `${id}/${place.workCentre}`;
    const operation = timed({ operationId, ...place }, start.value ?? startOfOrder);
    return status === undefined ? operation : { ...operation, status };
  });
  return parsed({ isNamed, operations });
}

function timed(operation: OperationChange, plannedStart: number | undefined): OperationChange {
  return plannedStart === undefined ? operation : { ...operation, plannedStart };
}
