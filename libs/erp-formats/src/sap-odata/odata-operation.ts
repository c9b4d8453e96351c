import { parsed, rejected, type OperationChange, type Parsed } from '#libs/contracts';

import { operationIdOf } from '../sap/operation-id.js';
import { epochSecondsOf } from '../time/local-time.js';
import { pathTo, textField, type ODataEntity } from './odata-entity.js';
import { OPERATION_FLAGS, readStatus } from './odata-status.js';
import { readODataTime } from './odata-time.js';

const OPERATION_NAMES = ['ManufacturingOrderOperation', 'ManufacturingOrderOperation_2'] as const;

const SUB_OPERATION_NAMES = [
  'ManufacturingOrderSubOperation',
  'ManufacturingOrderSubOperation_2',
] as const;

const SEQUENCE = 'ManufacturingOrderSequence';

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
  const placeOf = (entity: ODataEntity): string => {
    const number = firstText(entity, OPERATION_NAMES) ?? '';
    const id = operationIdOf(number, textField(entity, SEQUENCE));
    return `${id} ${textField(entity, 'WorkCenter') ?? ''}`;
  };
  const isStep = (entity: ODataEntity) => firstText(entity, SUB_OPERATION_NAMES) !== undefined;
  const places = new Set(entities.filter((entity) => !isStep(entity)).map(placeOf));
  return entities.filter((entity) => !isStep(entity) || !places.has(placeOf(entity)));
}

/** An operation as its entity tells of it; without a status where none of its indicators is set. */
export function readODataOperation(entity: ODataEntity, timeZone: string): Parsed<OperationChange> {
  const number = firstText(entity, OPERATION_NAMES);
  if (number === undefined) return missing(entity, OPERATION_NAMES[0]);
  const workCentre = textField(entity, 'WorkCenter');
  if (workCentre === undefined) return missing(entity, 'WorkCenter');
  const start = readPlannedStart(entity, timeZone);
  if (!start.ok) return start;
  const subOperation = firstText(entity, SUB_OPERATION_NAMES);
  const whole = subOperation === undefined ? number : `${number}-${subOperation}`;
  const operationId = operationIdOf(whole, textField(entity, SEQUENCE));
  const operation: OperationChange = { operationId, workCentre };
  const plant = textField(entity, 'ProductionPlant') ?? textField(entity, 'Plant');
  const status = readStatus(entity, OPERATION_FLAGS);
  if (plant !== undefined) operation.plant = plant;
  if (status !== undefined) operation.status = status;
  if (start.value !== undefined) operation.plannedStart = start.value;
  return parsed(operation);
}

/** Releases of the service name a field differently. */
function firstText(entity: ODataEntity, names: readonly string[]): string | undefined {
  return names.map((name) => textField(entity, name)).find(Boolean);
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
