import { parsed, parsedEach, rejected, type OperationChange, type Parsed } from '#libs/contracts';

import { operationIdOf } from '../sap/sap-values.js';
import { epochSecondsOf } from '../time/local-time.js';
import { type JsonRecord, missing, pathTo } from '../json/json-record.js';
import { checkEntities, textField } from './odata-entity.js';
import { OPERATION_FLAGS, readStatus } from './odata-status.js';
import { readODataTime } from './odata-time.js';

const OPERATION_NAMES = ['ManufacturingOrderOperation', 'ManufacturingOrderOperation_2'] as const;

const SUB_OPERATION_NAMES = [
  'ManufacturingOrderSubOperation',
  'ManufacturingOrdSubOperation_2',
] as const;

const SEQUENCE = 'ManufacturingOrderSequence';

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['OpErlstSchedldExecStrtDte', 'OpErlstSchedldExecStrtTme'],
  ['OpLtstSchedldExecStrtDte', 'OpLtstSchedldExecStrtTme'],
] as const;

const TEXTS = [
  ...OPERATION_NAMES,
  ...SUB_OPERATION_NAMES,
  ...STARTS.flat(),
  SEQUENCE,
  'WorkCenter',
  'ProductionPlant',
  'Plant',
];

/** An entity of operations rather than of orders. */
export function isOperation(entity: JsonRecord): boolean {
  return OPERATION_NAMES.some((name) => Object.hasOwn(entity.fields, name));
}

/** All but the sub-operations done at the work centre of their operation, which are steps of it. */
function withoutSteps(entities: readonly JsonRecord[]): JsonRecord[] {
  const placeOf = (entity: JsonRecord): string => {
    const number = firstText(entity, OPERATION_NAMES) ?? '';
    const id = operationIdOf(number, textField(entity, SEQUENCE));
    return `${id} ${textField(entity, 'WorkCenter') ?? ''}`;
  };
  const isSub = (entity: JsonRecord) => firstText(entity, SUB_OPERATION_NAMES) !== undefined;
  const operations = entities.filter((entity) => !isSub(entity));
  // work centres of several plants may have one name
  const plants = new Map(operations.map((entity) => [placeOf(entity), plantOf(entity)]));
  const isStep = (entity: JsonRecord): boolean => {
    const [place, plant] = [placeOf(entity), plantOf(entity)];
    return plants.has(place) && (plant === undefined || plants.get(place) === plant);
  };
  return entities.filter((entity) => !isSub(entity) || !isStep(entity));
}

/**
 * Operations as their entities describe them; without a status where none of their indicators is set. One
 * without a work centre is done elsewhere (by a supplier) and no work for a machine; where none of them so
 * much as has the field, it was not asked for.
 */
export function readODataOperations(
  entities: readonly JsonRecord[],
  timeZone: string,
): Parsed<OperationChange[]> {
  const checked = checkEntities(entities, { texts: TEXTS, flags: OPERATION_FLAGS });
  if (!checked.ok) return checked;
  const [first] = entities;
  if (first !== undefined && !entities.some(({ fields }) => Object.hasOwn(fields, 'WorkCenter'))) {
    return missing(first, 'WorkCenter');
  }
  const placed = withoutSteps(entities).flatMap((entity) => {
    const workCentre = textField(entity, 'WorkCenter');
    return workCentre === undefined ? [] : [{ entity, workCentre }];
  });
  return parsedEach(placed, ({ entity, workCentre }) =>
    readOperation(entity, workCentre, timeZone),
  );
}

function readOperation(
  entity: JsonRecord,
  workCentre: string,
  timeZone: string,
): Parsed<OperationChange> {
  const number = firstText(entity, OPERATION_NAMES);
  if (number === undefined) return missing(entity, OPERATION_NAMES[0]);
  const start = readPlannedStart(entity, timeZone);
  if (!start.ok) return start;
  const subOperation = firstText(entity, SUB_OPERATION_NAMES);
  const whole = subOperation === undefined ? number : `${number}-${subOperation}`;
  const operationId = operationIdOf(whole, textField(entity, SEQUENCE));
  const operation: OperationChange = { operationId, workCentre };
  const plant = plantOf(entity);
  const status = readStatus(entity, OPERATION_FLAGS);
  if (plant !== undefined) operation.plant = plant;
  if (status !== undefined) operation.status = status;
  if (start.value !== undefined) operation.plannedStart = start.value;
  return parsed(operation);
}

/** Releases of the service name a field differently. */
function firstText(entity: JsonRecord, names: readonly string[]): string | undefined {
  return names.map((name) => textField(entity, name)).find(Boolean);
}

function readPlannedStart(entity: JsonRecord, timeZone: string): Parsed<number | undefined> {
  for (const [dateField, timeField] of STARTS) {
    const start = readODataTime(textField(entity, dateField), textField(entity, timeField));
    if (start === 'invalid') {
      const path = pathTo(entity, dateField);
      return rejected('invalid-message', `${path} and ${timeField} are no date and time`);
    }
    if (start !== 'absent') return parsed(epochSecondsOf(start, timeZone));
  }
  return parsed(undefined);
}

function plantOf(entity: JsonRecord): string | undefined {
  return textField(entity, 'ProductionPlant') ?? textField(entity, 'Plant');
}
