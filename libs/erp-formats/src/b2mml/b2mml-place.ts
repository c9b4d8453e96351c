import type { OperationChange } from '#libs/contracts';

import { elements, onlyElement, textOf, type DocumentElement } from '../xml/document-element.js';

export type Place = Required<Pick<OperationChange, 'workCentre'>> & Pick<OperationChange, 'plant'>;

/** A module is part of the machine that is named beside it. */
const PARTS_OF_MACHINES = new Set(['EquipmentModule', 'ControlModule']);
/** Levels above a place of work; whoever names no more has not assigned it yet. */
const ABOVE_WORK_CENTRES = new Set(['Enterprise', 'Site', 'Area']);
const SCOPES = ['HierarchyScope', 'Location'] as const;

/**
 * Where a segment or job order is to be done: at each piece of equipment that it requires by name, else at the
 * lowest level of its own hierarchy scope. The site above is the plant. What is required twice, to set up and
 * to run, say, is one place.
 */
export function placesOf(work: DocumentElement): Place[] {
  const required = elements(work, 'EquipmentRequirement').flatMap(placesOfRequirement);
  return required.length > 0 ? distinct(required) : placeOfScope(work);
}

function distinct(places: readonly Place[]): Place[] {
  const keyOf = ({ workCentre, plant }: Place) => JSON.stringify([workCentre, plant]);
  return [...new Map(places.map((each) => [keyOf(each), each])).values()];
}

/** Of one that asks for a class of equipment, say, the requirements within it may name which. */
function placesOfRequirement(requirement: DocumentElement): Place[] {
  const level = onlyElement(requirement, 'EquipmentLevel');
  if (level !== undefined && PARTS_OF_MACHINES.has(levelOf(level) ?? level.text)) return [];
  const own = elements(requirement, 'EquipmentID').flatMap(({ text }) =>
    text === '' ? [] : [place(text, requirement)],
  );
  if (own.length > 0) return own;
  return elements(requirement, 'EquipmentRequirement').flatMap(placesOfRequirement);
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

function siteOf(element: DocumentElement | null): string | undefined {
  if (element === null) return undefined;
  const site = levelsAt(element).find(({ level }) => level === 'Site');
  return site?.equipmentId ?? siteOf(element.parent);
}

interface Level {
  equipmentId: string;
  level: string;
}

/** Levels of an element's own scope, each nested in the one before, from the top down. */
function levelsAt(element: DocumentElement): Level[] {
  const scope = SCOPES.map((name) => onlyElement(element, name)).find(Boolean);
  if (scope === undefined) return [];
  const equipmentId = textOf(scope, 'EquipmentID');
  const level = levelOf(scope) ?? '';
  const below = levelsAt(scope);
  return equipmentId === undefined ? below : [{ equipmentId, level }, ...below];
}

/** V07 knows it by either name. */
function levelOf(scope: DocumentElement): string | undefined {
  return textOf(scope, 'EquipmentElementLevel') ?? textOf(scope, 'EquipmentLevel');
}
