import {
  Field,
  identifier,
  isBlank,
  optionalIdentifier,
  optionalTime,
  optionalWholeNumber,
  readFields,
  secondsOf,
} from './message-fields.js';
import { describeJson, isJsonObject } from './json.js';
import { optionalOrderStatus, type OrderStatus } from './order-status.js';
import { parsed, rejected, type Parsed } from './rejection.js';

/** One operation of an order; it names its machine, or the work centre that an equipment map resolves. */
export interface OrderOperation {
  operationId: string;
  machineId?: string;
  workCentre?: string;
  plant?: string;
  status: OrderStatus;
  /** Whole number; 0 or absent sorts last. */
  sequence?: number;
  /** Epoch seconds. */
  plannedStart?: number;
}

class OperationDto {
  @Field(identifier)
  operationId!: string;

  @Field(optionalIdentifier)
  machineId?: string | null;

  @Field(optionalIdentifier)
  workCentre?: string | null;

  @Field(optionalIdentifier)
  plant?: string | null;

  @Field(optionalOrderStatus)
  status?: OrderStatus | '' | null;

  @Field(optionalWholeNumber)
  sequence?: number | '' | null;

  @Field(optionalTime)
  plannedStart: unknown;
}

/** What is new about an operation; what it leaves out stays as it is known. */
export type OperationChange = Pick<OrderOperation, 'operationId'> & Partial<OrderOperation>;

/** Operations of a whole order: each has a place, and where it has no status its order's. */
export function readOperations(
  entries: readonly unknown[],
  statusOfOrder: OrderStatus,
): Parsed<OrderOperation[]> {
  return readEach(entries, (entry, path) => {
    const change = readOperationChange(entry, path);
    if (!change.ok) return change;
    const { machineId, workCentre, status = statusOfOrder } = change.value;
    if (machineId === undefined && workCentre === undefined) {
      return rejected('invalid-message', `${path} names neither a machineId nor a workCentre`);
    }
    return parsed(Object.assign(change.value, { status }));
  });
}

export function readOperationChanges(entries: readonly unknown[]): Parsed<OperationChange[]> {
  return readEach(entries, readOperationChange);
}

function readEach<T extends OperationChange>(
  entries: readonly unknown[],
  read: (entry: unknown, path: string) => Parsed<T>,
): Parsed<T[]> {
  const operations: T[] = [];
  const seen = new Set<string>();
  for (const entry of entries) {
    const path = `operations[${operations.length}]`;
    const operation = read(entry, path);
    if (!operation.ok) return operation;
    const { operationId } = operation.value;
    if (seen.has(operationId)) {
      return rejected('invalid-message', `${path} repeats operationId ${operationId}`);
    }
    seen.add(operationId);
    operations.push(operation.value);
  }
  return parsed(operations);
}

function readOperationChange(entry: unknown, path: string): Parsed<OperationChange> {
  if (!isJsonObject(entry)) {
    return rejected('invalid-message', `${path} must be an object, not ${describeJson(entry)}`);
  }
  const fields = readFields(OperationDto, entry, `${path}.`);
  if (!fields.ok) return fields;
  const { operationId, machineId, workCentre, plant, status, sequence } = fields.value;
  const change: OperationChange = { operationId };
  if (!isBlank(machineId)) change.machineId = machineId;
  if (!isBlank(workCentre)) change.workCentre = workCentre;
  if (!isBlank(plant)) change.plant = plant;
  if (!isBlank(status)) change.status = status;
  if (!isBlank(sequence)) change.sequence = sequence;
  const plannedStart = secondsOf(fields.value.plannedStart);
  if (plannedStart !== undefined) change.plannedStart = plannedStart;
  return parsed(change);
}
