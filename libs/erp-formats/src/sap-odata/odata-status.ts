import type { OrderStatus } from '#libs/contracts';

import { statusOf } from '../sap/sap-values.js';
import type { JsonRecord } from '../json/json-record.js';
import { isSet, textField } from './odata-entity.js';

/** Of an entity of statuses. */
export const STATUS_TEXTS = ['StatusCode'];

type StatusFlags = readonly (readonly [field: string, systemStatus: string])[];

/** The indicators are the system statuses that an IDoc carries as codes. */
export const ORDER_FLAGS: StatusFlags = [
  ['OrderIsDeleted', 'I0013'],
  ['OrderIsMarkedForDeletion', 'I0076'],
  ['OrderIsClosed', 'I0046'],
  ['OrderIsTechnicallyCompleted', 'I0045'],
  ['OrderIsConfirmed', 'I0009'],
  ['OrderIsLocked', 'I0043'],
  ['OrderIsPartiallyConfirmed', 'I0010'],
  ['OrderIsReleased', 'I0002'],
  ['OrderIsPartiallyReleased', 'I0042'],
  ['OrderIsCreated', 'I0001'],
];

export const OPERATION_FLAGS: StatusFlags = [
  ['OperationIsDeleted', 'I0013'],
  ['OperationIsClosed', 'I0046'],
  ['OperationIsTechlyCompleted', 'I0045'],
  ['OperationIsConfirmed', 'I0009'],
  ['OperationIsPartiallyConfirmed', 'I0010'],
  ['OperationIsReleased', 'I0002'],
  ['OperationIsCreated', 'I0001'],
];

/** Of an entity's indicators and of its statuses, where they came along. */
export function readStatus(
  entity: JsonRecord,
  flags: StatusFlags,
  statuses: readonly JsonRecord[] = [],
): OrderStatus | undefined {
  const flagged = flags.flatMap(([field, code]) => (isSet(entity, field) ? [code] : []));
  return statusOf([...flagged, ...statuses.flatMap((each) => textField(each, 'StatusCode') ?? [])]);
}
