import {
  type OperationChange,
  operationIdAt,
  type OrderChange,
  parsed,
  type Parsed,
  rejected,
} from '#libs/contracts';
import {
  type DocumentElement,
  elements,
  missing,
  onlyElement,
  pathOf,
  textOf,
} from '../xml/document-element.js';
import { statusOfSegment } from './b2mml-status.js';
import { readDateTimeField } from './b2mml-time.js';

const KINDS_OF_WORK = ['ProcessSegmentID', 'ProductSegmentID'] as const;

/** The operations of an order, and the ids for which they name every place. */
interface B2mmlOperations extends Pick<Required<OrderChange>, 'operations' | 'replaces'> {
  /** Segments with a status and no place: a change may have only these. */
  states: OperationChange[];
}

type Work = Omit<OperationChange, 'operationId' | keyof Place>;

interface Segment {
  id: string;
  /** Whether the id is the segment's own; otherwise it is a kind of work. */
  isNamed: boolean;
  places: readonly Place[];
  work: Work;
}

/**
 * Operations of an order: a job order has one for each of its places, any other order one for each place of a segment.
 * Segments without a place are no work for a machine. A document that names a place of a segment or job order names all
 * its places.
 */
export function readB2mmlOperations(
  order: DocumentElement,
  timeZone: string,
): Parsed<B2mmlOperations> {
  const start = readDateTimeField(order, 'StartTime', timeZone);
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
    else addState(states, element);
  }
  const segments = numberRepeats(found);
  if (segments === 'too-many') {
    return rejected('too-large', `${pathOf(order, 'SegmentRequirement')}: too many have no ID`);
  }
  const operations = segments.flatMap(({ id, places, work }) =>
    places.map((place) => ({ operationId: idAt(id, place, places), ...place, ...work })),
  );
  return parsed({
    operations,
    replaces: segments.map(({ id }) => id),
    states: [...states.values()],
  });
}

/** Notes the status of a segment with its own id. A kind of work would have to be counted among all segments. */
function addState(states: Map<string, OperationChange>, segment: DocumentElement): void {
  const operationId = textOf(segment, 'ID');
  const status = statusOfSegment(segment);
  if (operationId === undefined || status === undefined) return;
  states.set(operationId, { operationId, status });
}

/** Segments at any depth. */
function segmentsIn(element: DocumentElement): DocumentElement[] {
  return elements(element, 'SegmentRequirement').flatMap((segment) => [
    segment,
    ...segmentsIn(segment),
  ]);
}

/** Undefined for a segment without a place. */
function readSegment(
  segment: DocumentElement,
  timeZone: string,
  startOfOrder: number | undefined,
): Parsed<Segment | undefined> {
  const places = placesOf(segment);
  if (places.length === 0) return parsed(undefined);
  const ownId = textOf(segment, 'ID');
  const id = ownId ?? KINDS_OF_WORK.map((name) => textOf(segment, name)).find(Boolean);
  if (id === undefined) return missing(segment, 'ID');
  const start = readDateTimeField(segment, 'EarliestStartTime', timeZone);
  if (!start.ok) return start;
  return parsed({
    id,
    isNamed: ownId !== undefined,
    places,
    work: workOf(start.value ?? startOfOrder, statusOfSegment(segment)),
  });
}

/** The id of a segment and the operation ids that it has at its places. */
function idsUnder(id: string, places: readonly Place[]): string[] {
  return [id, ...places.map((place) => idAt(id, place, places))];
}

function idAt(id: string, { workCentre }: Place, places: readonly Place[]): string {
  return places.length === 1 ? id : operationIdAt(id, workCentre);
}

function workOf(plannedStart: number | undefined, status?: OperationChange['status']): Work {
  return { ...(plannedStart !== undefined && { plannedStart }), ...(status && { status }) };
}

/**
 * Gives segments without their own id one from their kind of work, which an order may have several times: `MILL`,
 * `MILL#2`, in order of the document. Own ids are unchanged; a later check refuses repeated ones.
 */
function numberRepeats(segments: readonly Segment[]): Segment[] | 'too-many' {
  const named = segments.filter(({ isNamed }) => isNamed);
  const taken = new Set(named.flatMap(({ id, places }) => idsUnder(id, places)));
  const counts = new Map<string, number>();
  const numbered: Segment[] = [];
  let compared = 0;
  for (const segment of segments) {
    if (segment.isNamed) {
      numbered.push(segment);
      continue;
    }
    const { id: kind, places } = segment;
    let count = counts.get(kind) ?? 1;
    let id = count === 1 ? kind : `${kind}#${count}`;
    while (idsUnder(id, places).some((each) => taken.has(each))) {
      compared += 1 + places.length;
      if (compared > MOST_COMPARED) return 'too-many';
      id = `${kind}#${(count += 1)}`;
    }
    for (const each of idsUnder(id, places)) taken.add(each);
    counts.set(kind, count);
    numbered.push({ ...segment, id });
  }
  return numbered;
}

/**
 * Bounds a synchronous loop: a malicious document may use thousands of the ids that numbering would try, at thousands
 * of places.
 */
const MOST_COMPARED = 1_000_000;

type Place = Required<Pick<OperationChange, 'workCentre'>> & Pick<OperationChange, 'plant'>;

/** A module is a part of a machine, which has its own requirement. */
const PARTS_OF_MACHINES = new Set(['EquipmentModule', 'ControlModule']);
/** Levels above a work centre. Work whose lowest level is one of these is not assigned yet. */
const ABOVE_WORK_CENTRES = new Set(['Enterprise', 'Site', 'Area']);

/**
 * The places of a segment or job order: each piece of equipment that it requires by name, else the lowest level of its
 * own hierarchy scope. The site above is the plant. Equipment required twice, for example to set up and to run, is one
 * place.
 */
function placesOf(work: DocumentElement): Place[] {
  const required = requiredPlaces(work);
  return required.length > 0 ? distinctPlaces(required) : placeOfScope(work);
}

function distinctPlaces(places: Place[]): Place[] {
  if (places.length === 1) return places;
  const keyOf = ({ workCentre, plant }: Place) => JSON.stringify([workCentre, plant]);
  return [...new Map(places.map((each) => [keyOf(each), each])).values()];
}

/** The places that requirements name. A requirement for a class may have nested ones that name its equipment. */
function requiredPlaces(work: DocumentElement): Place[] {
  return elements(work, 'EquipmentRequirement').flatMap((requirement) => {
    const level = onlyElement(requirement, 'EquipmentLevel');
    if (level !== undefined && PARTS_OF_MACHINES.has(levelOf(level) ?? level.text)) return [];
    const named = elements(requirement, 'EquipmentID').filter(({ text }) => text !== '');
    if (named.length === 0) return requiredPlaces(requirement);
    return named.map(({ text }) => place(text, requirement));
  });
}

function placeOfScope(work: DocumentElement): Place[] {
  const lowest = levelsAt(work).at(-1);
  if (lowest === undefined || ABOVE_WORK_CENTRES.has(lowest.level)) return [];
  return [place(lowest.equipmentId, work)];
}

function place(workCentre: string, element: DocumentElement): Place {
  const plant = siteOf(element);
  return plant === undefined ? { workCentre } : { workCentre, plant };
}

function siteOf(element: DocumentElement): string | undefined {
  const site = levelsAt(element).find(({ level }) => level === 'Site');
  return site?.equipmentId ?? siteAbove(element.parent);
}

/** A cache: ten thousand places may have fifty elements above them, each with a scope of fifty levels. */
const sitesAbove = new WeakMap<DocumentElement, { site: string | undefined }>();

function siteAbove(element: DocumentElement | null): string | undefined {
  if (element === null) return undefined;
  let known = sitesAbove.get(element);
  if (known === undefined) sitesAbove.set(element, (known = { site: siteOf(element) }));
  return known.site;
}

interface Level {
  equipmentId: string;
  level: string;
}

/** Levels of an element's own scope, from the outermost in. */
function levelsAt(element: DocumentElement): Level[] {
  const scope = onlyElement(element, 'HierarchyScope') ?? onlyElement(element, 'Location');
  if (scope === undefined) return [];
  const equipmentId = textOf(scope, 'EquipmentID');
  const level = levelOf(scope) ?? '';
  const below = levelsAt(scope);
  return equipmentId === undefined ? below : [{ equipmentId, level }, ...below];
}

/** V07 has both names. */
function levelOf(scope: DocumentElement): string | undefined {
  return textOf(scope, 'EquipmentElementLevel') ?? textOf(scope, 'EquipmentLevel');
}
