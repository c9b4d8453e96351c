import {
  type OperationChange,
  operationIdAt,
  type OrderChange,
  parsed,
  type Parsed,
  rejected,
} from '#libs/contracts';
import { type DocumentElement, elements, pathOf, textOf } from '../xml/document-element.js';
import { type Place, placesOf } from './b2mml-place.js';
import { statusOfSegment } from './b2mml-status.js';
import { readDateTime } from './b2mml-time.js';

const KINDS_OF_WORK = ['ProcessSegmentID', 'ProductSegmentID'] as const;

/** Where an order is done, and of what that is every place. */
export interface B2mmlOperations extends Pick<Required<OrderChange>, 'operations' | 'replaces'> {
  /** Segments that name no place and say how far they are: a change may contain nothing else. */
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

/** A segment, whether its id is its own or what kind of work it is, and the ids that it makes under an id. */
interface NamedSegment {
  id: string;
  isNamed: boolean;
  idsUnder: (id: string) => readonly string[];
}

/**
 * Segments without an id of their own go by what kind of work they are, and an order may have the same kind
 * several times: `MILL`, `MILL#2`, in order of the document. Ids that segments do have are left as they are;
 * it is a fault to give one twice.
 */
function numberRepeats<T extends NamedSegment>(segments: readonly T[]): T[] {
  const named = segments.filter(({ isNamed }) => isNamed);
  const taken = new Set(named.flatMap(({ id, idsUnder }) => [id, ...idsUnder(id)]));
  const counts = new Map<string, number>();
  return segments.map((segment) => {
    if (segment.isNamed) return segment;
    const { id: kind, idsUnder } = segment;
    let count = counts.get(kind) ?? 1;
    let id = count === 1 ? kind : `${kind}#${count}`;
    while ([id, ...idsUnder(id)].some((each) => taken.has(each))) id = `${kind}#${(count += 1)}`;
    for (const each of [id, ...idsUnder(id)]) taken.add(each);
    counts.set(kind, count);
    return { ...segment, id };
  });
}
