import { identifier, identifiers, listLength, optionalTime, secondsOf } from './field-rules.js';
import type { JsonObject } from './json-object.js';
import { Field, readFields } from './message-fields.js';
import { parsed, type Parsed } from './rejection.js';

/** The list a machine shall have from now on, in this order; an empty one clears. */
export interface WorkOrderAssignment {
  machineId: string;
  workingOrders: string[];
  /** Epoch seconds; a list older than the last one applied to the machine is superseded. */
  issuedAt?: number;
}

class AssignmentDto {
  @Field(identifier)
  machineId!: string;

  @Field(identifiers)
  @Field(listLength, 'too-large')
  workingOrders!: string[];

  @Field(optionalTime)
  issuedAt: unknown;
}

class IssuedAtDto {
  @Field(optionalTime)
  issuedAt: unknown;
}

export function readAssignment(
  message: JsonObject,
  path: string,
  issuedAtOfMessage: number | undefined,
): Parsed<WorkOrderAssignment> {
  const fields = readFields(AssignmentDto, message, path);
  if (!fields.ok) return fields;
  const { machineId, workingOrders } = fields.value;
  const issuedAt = secondsOf(fields.value.issuedAt) ?? issuedAtOfMessage;
  const assignment: WorkOrderAssignment = { machineId, workingOrders };
  if (issuedAt !== undefined) assignment.issuedAt = issuedAt;
  return parsed(assignment);
}

export function readIssuedAt(message: JsonObject): Parsed<number | undefined> {
  const fields = readFields(IssuedAtDto, message);
  return fields.ok ? parsed(secondsOf(fields.value.issuedAt)) : fields;
}
