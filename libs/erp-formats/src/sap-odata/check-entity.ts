import { describeJson, parsed, rejected, type Parsed } from '#libs/contracts';

import { NOT_SET, pathTo, SET, valueOf, type ODataEntity } from './odata-entity.js';

interface EntityFields {
  texts: readonly string[];
  /** Indicators, each with the system status that it stands for. */
  flags?: readonly (readonly [field: string, systemStatus: string])[];
}

/** The first fault of any of them. */
export function checkEntities(
  entities: readonly ODataEntity[],
  fields: EntityFields,
): Parsed<undefined> {
  for (const entity of entities) {
    const checked = checkEntity(entity, fields);
    if (!checked.ok) return checked;
  }
  return parsed(undefined);
}

/**
 * Refuses what would otherwise count as absent: a field that is no text, an indicator that is neither set nor not,
 * and what is no entity. Fields that are not read are nobody's business.
 */
export function checkEntity(
  entity: ODataEntity,
  { texts, flags = [] }: EntityFields,
): Parsed<undefined> {
  const { fields, path, notEntity } = entity;
  if (notEntity !== undefined) {
    return rejected('invalid-message', `${path} must be an object, not ${notEntity}`);
  }
  for (const name of texts) {
    const value = valueOf(fields, name) ?? '';
    if (typeof value === 'string') continue;
    const found = describeJson(value);
    return rejected('invalid-message', `${pathTo(entity, name)} must be text, not ${found}`);
  }
  const unclear = flags.find(([name]) => !isIndicator(valueOf(fields, name)))?.[0];
  if (unclear === undefined) return parsed(undefined);
  return rejected('invalid-message', `${pathTo(entity, unclear)} must be X, true, false or empty`);
}

function isIndicator(value: unknown): boolean {
  if (typeof value === 'string') return [...SET, ...NOT_SET].includes(value.trim().toUpperCase());
  return typeof value === 'boolean' || value === null || value === undefined;
}
