import {
  identifier,
  isBlank,
  optionalIdentifier,
  optionalTime,
  optionalWholeNumber,
  secondsOf,
} from './field-rules.js';
import { describeJson, isJsonObject } from './json-object.js';
import { Field, readFields, type ProblemOf } from './message-fields.js';
import { orderStatus, type OrderStatus } from './order-status.js';
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

const optionalStatus: ProblemOf = (value) => (isBlank(value) ? undefined : orderStatus(value));

class OperationDto {
  @Field(identifier)
  operationId!: string;

  @Field(optionalIdentifier)
  machineId?: string | null;

  @Field(optionalIdentifier)
  workCentre?: string | null;

  @Field(optionalIdentifier)
  plant?: string | null;

  @Field(optionalStatus)
  status?: OrderStatus | '' | null;

  @Field(optionalWholeNumber)
  sequence?: number | '' | null;

  @Field(optionalTime)
  plannedStart: unknown;
}

export function readOperations(
  entries: readonly unknown[],
  statusOfOrder: OrderStatus,
): Parsed<OrderOperation[]> {
  const operations: OrderOperation[] = [];
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const operation = readOperation(entry, `operations[${index}]`, statusOfOrder);
    if (!operation.ok) return operation;
    const { operationId } = operation.value;
    if (seen.has(operationId)) {
      return rejected('invalid-message', `operations[${index}] repeats operationId ${operationId}`);
    }
    seen.add(operationId);
    operations.push(operation.value);
  }
  return parsed(operations);
}

function readOperation(
  entry: unknown,
  path: string,
  statusOfOrder: OrderStatus,
): Parsed<OrderOperation> {
  if (!isJsonObject(entry)) {
    return rejected('invalid-message', `${path} must be an object, not ${describeJson(entry)}`);
  }
  const fields = readFields(OperationDto, entry, `${path}.`);
  if (!fields.ok) return fields;
  const { operationId, machineId, workCentre, plant, status, sequence } = fields.value;
  if (isBlank(machineId) && isBlank(workCentre)) {
    return rejected('invalid-message', `${path} names neither a machineId nor a workCentre`);
  }
  const operation: OrderOperation = {
    operationId,
    status: isBlank(status) ? statusOfOrder : status,
  };
  if (!isBlank(machineId)) operation.machineId = machineId;
  if (!isBlank(workCentre)) operation.workCentre = workCentre;
  if (!isBlank(plant)) operation.plant = plant;
  if (!isBlank(sequence)) operation.sequence = sequence;
  const plannedStart = secondsOf(fields.value.plannedStart);
  if (plannedStart !== undefined) operation.plannedStart = plannedStart;
  return parsed(operation);
}
