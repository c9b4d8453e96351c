import {
  operationIdAt,
  parsed,
  rejected,
  type OperationChange,
  type OrderChange,
  type Parsed,
} from '#libs/contracts';

import { elements, pathOf, textOf, type DocumentElement } from '../xml/document-element.js';
import { placesOf, type Place } from './b2mml-place.js';
import { statusOfSegment } from './b2mml-status.js';
import { readDateTime } from './b2mml-time.js';
import { numberRepeats, type NamedSegment } from './number-repeats.js';

const KINDS_OF_WORK = ['ProcessSegmentID', 'ProductSegmentID'] as const;

/** Where an order is done, and of what that is every place. */
export interface B2mmlOperations extends Pick<Required<OrderChange>, 'operations' | 'replaces'> {
  /** Segments that name no place and say how far they are: a change may tell of nothing else. */
  states: OperationChange[];
}

type Work = Omit<OperationChange, 'operationId' | keyof Place>;

interface Segment extends NamedSegment {
  places: readonly Place[];
  work: Work;
}

/**
 * Operations of an order: a job order is one at each of its places, any other order has one for each segment
 * that has a place. Work without a place is none for a machine. Whoever names a place of a segment or a job
 * order names all of its places.
 */
export function readB2mmlOperations(
  order: DocumentElement,
  timeZone: string,
): Parsed<B2mmlOperations> {
  const start = readDateTime(order, 'StartTime', timeZone);
  if (!start.ok) return start;
  if (order.name === 'JobOrder') {
    const operations = placesOf(order).map((place) => ({
      operationId: place.workCentre,
      ...place,
      ...workOf(start.value),
    }));
    return parsed({ operations, replaces: 'all', states: [] });
  }
  const found: Segment[] = [];
  const states = new Map<string, OperationChange>();
  for (const element of segmentsIn(order)) {
    const segment = readSegment(element, timeZone, start.value);
    if (!segment.ok) return segment;
    if (segment.value !== undefined) found.push(segment.value);
    else noteState(states, element);
  }
  const segments = numberRepeats(found);
  const operations = segments.flatMap(({ id, places, work }) =>
    places.map((place) => ({ operationId: idAt(id, place, places), ...place, ...work })),
  );
  return parsed({
    operations,
    replaces: segments.map(({ id }) => id),
    states: [...states.values()],
  });
}

/** Of a segment with an id of its own: what kind of work it is would have to be counted among all of them. */
function noteState(states: Map<string, OperationChange>, segment: DocumentElement): void {
  const operationId = textOf(segment, 'ID');
  const status = statusOfSegment(segment);
  if (operationId === undefined || status === undefined) return;
  states.set(operationId, { operationId, status });
}

/** Segments may be made of segments. */
function segmentsIn(element: DocumentElement): DocumentElement[] {
  return elements(element, 'SegmentRequirement').flatMap((segment) => [
    segment,
    ...segmentsIn(segment),
  ]);
}

/** Undefined without a place. */
function readSegment(
  segment: DocumentElement,
  timeZone: string,
  startOfOrder: number | undefined,
): Parsed<Segment | undefined> {
  const places = placesOf(segment);
  if (places.length === 0) return parsed(undefined);
  const ownId = textOf(segment, 'ID');
  const id = ownId ?? KINDS_OF_WORK.map((name) => textOf(segment, name)).find(Boolean);
  if (id === undefined) return rejected('invalid-message', `${pathOf(segment, 'ID')} is missing`);
  const start = readDateTime(segment, 'EarliestStartTime', timeZone);
  if (!start.ok) return start;
  return parsed({
    id,
    isNamed: ownId !== undefined,
    idsUnder: (each) => places.map((place) => idAt(each, place, places)),
    places,
    work: workOf(start.value ?? startOfOrder, statusOfSegment(segment)),
  });
}

function idAt(id: string, { workCentre }: Place, places: readonly Place[]): string {
  return places.length === 1 ? id : operationIdAt(id, workCentre);
}

function workOf(plannedStart: number | undefined, status?: OperationChange['status']): Work {
  return { ...(plannedStart !== undefined && { plannedStart }), ...(status && { status }) };
}
