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
  onlyElement,
  pathOf,
  textOf,
} from '../xml/document-element.js';
import { statusOfSegment } from './b2mml-status.js';
import { readDateTimeField } from './b2mml-time.js';

const KINDS_OF_WORK = ['ProcessSegmentID', 'ProductSegmentID'] as const;

/** Where an order is done, and of what that is every place. */
interface B2mmlOperations extends Pick<Required<OrderChange>, 'operations' | 'replaces'> {
  /** Segments that name no place and say how far they are: a change may contain nothing else. */
  states: OperationChange[];
}

type Work = Omit<OperationChange, 'operationId' | keyof Place>;

interface Segment {
  id: string;
  /** Whether the id is its own, or what kind of work it is. */
  isNamed: boolean;
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
    else noteState(states, element);
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
  const start = readDateTimeField(segment, 'EarliestStartTime', timeZone);
  if (!start.ok) return start;
  return parsed({
    id,
    isNamed: ownId !== undefined,
    places,
    work: workOf(start.value ?? startOfOrder, statusOfSegment(segment)),
  });
}

/** All that a segment goes by under an id, the id itself included. */
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
 * Segments without an id of their own go by what kind of work they are, and an order may have the same kind
 * several times: `MILL`, `MILL#2`, in order of the document. Ids that segments do have are left as they are;
 * it is a fault to give one twice.
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
 * Nothing else goes on meanwhile. A document may give the ids of a kind of work by the thousand, and have it done at as
 * many places.
 */
const MOST_COMPARED = 1_000_000;

type Place = Required<Pick<OperationChange, 'workCentre'>> & Pick<OperationChange, 'plant'>;

/** A module is part of the machine that is named beside it. */
const PARTS_OF_MACHINES = new Set(['EquipmentModule', 'ControlModule']);
/** Levels above a place of work; whoever names no more has not assigned it yet. */
const ABOVE_WORK_CENTRES = new Set(['Enterprise', 'Site', 'Area']);

/**
 * Where a segment or job order is to be done: at each piece of equipment that it requires by name, else at the
 * lowest level of its own hierarchy scope. The site above is the plant. What is required twice, to set up and
 * to run, say, is one place.
 */
function placesOf(work: DocumentElement): Place[] {
  const required: Place[] = [];
  addPlaces(work, required);
  return required.length > 0 ? distinct(required) : placeOfScope(work);
}

function distinct(places: Place[]): Place[] {
  if (places.length === 1) return places;
  const keyOf = ({ workCentre, plant }: Place) => JSON.stringify([workCentre, plant]);
  return [...new Map(places.map((each) => [keyOf(each), each])).values()];
}

/** Adds the places that a requirement names; where it asks for a class of equipment, those within it may name which. */
function addPlaces(work: DocumentElement, places: Place[]): void {
  for (const requirement of elements(work, 'EquipmentRequirement')) {
    const level = onlyElement(requirement, 'EquipmentLevel');
    if (level !== undefined && PARTS_OF_MACHINES.has(levelOf(level) ?? level.text)) continue;
    const known = places.length;
    for (const { text } of elements(requirement, 'EquipmentID')) {
      if (text !== '') places.push(place(text, requirement));
    }
    if (places.length === known) addPlaces(requirement, places);
  }
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

/** Looked for once: ten thousand places may have fifty elements above them, each with a scope of as many levels. */
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

const NO_LEVELS: readonly Level[] = [];

/** Levels of an element's own scope, each nested in the one before, from the top down. */
function levelsAt(element: DocumentElement): readonly Level[] {
  const scope = onlyElement(element, 'HierarchyScope') ?? onlyElement(element, 'Location');
  if (scope === undefined) return NO_LEVELS;
  const equipmentId = textOf(scope, 'EquipmentID');
  const level = levelOf(scope) ?? '';
  const below = levelsAt(scope);
  return equipmentId === undefined ? below : [{ equipmentId, level }, ...below];
}

/** V07 knows it by either name. */
function levelOf(scope: DocumentElement): string | undefined {
  return textOf(scope, 'EquipmentElementLevel') ?? textOf(scope, 'EquipmentLevel');
}
