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
 * lowest level of its own hierarchy scope. The site above is the plant.
 */
export function placesOf(work: DocumentElement): Place[] {
  const required = elements(work, 'EquipmentRequirement').flatMap(placeOfRequirement);
  return required.length > 0 ? required : placeOfScope(work);
}

function placeOfRequirement(requirement: DocumentElement): Place[] {
  const level = onlyElement(requirement, 'EquipmentLevel');
  const levelName = level && (textOf(level, 'EquipmentElementLevel') ?? level.text);
  if (levelName !== undefined && PARTS_OF_MACHINES.has(levelName)) return [];
  const workCentre = elements(requirement, 'EquipmentID')[0]?.text ?? '';
  return workCentre === '' ? [] : [place(workCentre, requirement)];
}

function placeOfScope(work: DocumentElement): Place[] {
  const lowest = SCOPES.flatMap((name) => elements(work, name).flatMap(levelsOf)).at(-1);
  if (lowest === undefined || ABOVE_WORK_CENTRES.has(lowest.level)) return [];
  return [place(lowest.equipmentId, work)];
}

function place(workCentre: string, element: DocumentElement): Place {
  const plant = siteOf(element);
  return plant === undefined ? { workCentre } : { workCentre, plant };
}

function siteOf(element: DocumentElement | null): string | undefined {
  if (element === null) return undefined;
  const levels = SCOPES.flatMap((name) => elements(element, name).flatMap(levelsOf));
  return levels.find(({ level }) => level === 'Site')?.equipmentId ?? siteOf(element.parent);
}

/** A scope and the ones nested in it, from the top down. */
function levelsOf(scope: DocumentElement): { equipmentId: string; level: string }[] {
  const equipmentId = textOf(scope, 'EquipmentID');
  const level = textOf(scope, 'EquipmentElementLevel') ?? textOf(scope, 'EquipmentLevel') ?? '';
  const below = SCOPES.flatMap((name) => elements(scope, name).flatMap(levelsOf));
  return equipmentId === undefined ? below : [{ equipmentId, level }, ...below];
}
