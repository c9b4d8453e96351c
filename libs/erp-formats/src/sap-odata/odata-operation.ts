import { parsed, rejected, type OperationChange, type Parsed } from '#libs/contracts';

import type { DistinctOperations } from '../sap/distinct-operations.js';
import { epochSecondsOf } from '../time/local-time.js';
import { pathTo, textField, type ODataEntity } from './odata-entity.js';
import { OPERATION_FLAGS, readStatus } from './odata-status.js';
import { readODataTime } from './odata-time.js';

const OPERATION_NAMES = ['ManufacturingOrderOperation', 'ManufacturingOrderOperation_2'] as const;

const SUB_OPERATION = 'ManufacturingOrderSubOperation';

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['OpErlstSchedldExecStrtDte', 'OpErlstSchedldExecStrtTme'],
  ['OpLtstSchedldExecStrtDte', 'OpLtstSchedldExecStrtTme'],
] as const;

/** An entity of operations rather than of orders. */
export function isOperation(entity: ODataEntity): boolean {
  return OPERATION_NAMES.some((name) => Object.hasOwn(entity.fields, name));
}

/** All but the sub-operations done at the work centre of their operation, which are steps of it. */
export function withoutSteps(entities: readonly ODataEntity[]): ODataEntity[] {
  const placeOf = (entity: ODataEntity): string =>
    [...OPERATION_NAMES, 'ManufacturingOrderSequence', 'WorkCenter']
      .map((name) => textField(entity, name) ?? '')
      .join('/');
  const isStep = (entity: ODataEntity) => textField(entity, SUB_OPERATION) !== undefined;
  const places = new Set(entities.filter((entity) => !isStep(entity)).map(placeOf));
  return entities.filter((entity) => !isStep(entity) || !places.has(placeOf(entity)));
}

/** An operation as its entity tells of it; without a status where none of its indicators is set. */
export function readODataOperation(
  entity: ODataEntity,
  ids: DistinctOperations,
  timeZone: string,
): Parsed<OperationChange> {
  const number = OPERATION_NAMES.map((name) => textField(entity, name)).find(Boolean);
  if (number === undefined) return missing(entity, OPERATION_NAMES[0]);
  const workCentre = textField(entity, 'WorkCenter');
  if (workCentre === undefined) return missing(entity, 'WorkCenter');
  const start = readPlannedStart(entity, timeZone);
  if (!start.ok) return start;
  const subOperation = textField(entity, SUB_OPERATION);
  const whole = subOperation === undefined ? number : `${number}-${subOperation}`;
  const operationId = ids.idOf(whole, textField(entity, 'ManufacturingOrderSequence'));
  const operation: OperationChange = { operationId, workCentre };
  const plant = textField(entity, 'ProductionPlant') ?? textField(entity, 'Plant');
  const status = readStatus(entity, OPERATION_FLAGS);
  if (plant !== undefined) operation.plant = plant;
  if (status !== undefined) operation.status = status;
  if (start.value !== undefined) operation.plannedStart = start.value;
  return parsed(operation);
}

function readPlannedStart(entity: ODataEntity, timeZone: string): Parsed<number | undefined> {
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

function missing(entity: ODataEntity, field: string): Parsed<never> {
  return rejected('invalid-message', `${pathTo(entity, field)} is missing`);
}
