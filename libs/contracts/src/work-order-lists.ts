import { describeAhead } from './epoch-seconds.js';
import { describeJson, field, isJsonObject, type JsonObject, readJson } from './json.js';
import {
  identifier,
  identifiers,
  isBlank,
  MAX_LIST_LENGTH,
  optional,
  readableMachineId,
  readFields,
  time,
} from './message-fields.js';
import { naming, parsed, type Parsed, rejected, type Rejection } from './rejection.js';

/** One entry of a message that cannot be applied; machineId is null when it is unreadable. */
interface WorkOrderListFault {
  machineId: string | null;
  rejection: Rejection;
}

/** What a message asks for: each machine once, in `assignments` or in `faults`. */
export interface WorkOrderListMessage {
  assignments: WorkOrderAssignment[];
  faults: WorkOrderListFault[];
}

/**
 * Reads `erp.work-order-lists.v1`: `{machineId, workingOrders, issuedAt?}` or `{machines: [...]}`
 * (interface, setWorkOrderList). In the second form a bad entry is a fault of its own and the others
 * stand; of a machine named twice only the last entry counts, good or bad; `issuedAt` beside `machines`
 * holds for entries without their own. Refusals: `invalid-json`, `invalid-message`, `too-large`.
 */
export function parseWorkOrderLists(body: Buffer): Parsed<WorkOrderListMessage> {
  const json = readJson(body);
  if (!json.ok) return json;
  if (!isJsonObject(json.value)) {
    return rejected(
      'invalid-message',
      `the message must be an object, not ${describeJson(json.value)}`,
    );
  }
  const message = json.value;
  return isBlank(field(message, 'machines')) ? oneMachine(message) : severalMachines(message);
}

/**
 * The same, with a fault (`invalid-message`) in place of each list that no clock can have dated yet: applied, it
 * would have every list to come until then taken for older.
 */
export function refuseIssuedAhead(
  message: WorkOrderListMessage,
  nowSeconds: number,
  maxAheadSeconds: number,
): WorkOrderListMessage {
  const latestSeconds = nowSeconds + maxAheadSeconds;
  const isAhead = ({ issuedAt }: WorkOrderAssignment): boolean =>
    issuedAt !== undefined && issuedAt > latestSeconds;
  if (!message.assignments.some(isAhead)) return message;
  const faults = message.assignments
    .filter(isAhead)
    .map(({ machineId, issuedAt = 0 }): WorkOrderListFault => {
      const detail = `issuedAt ${describeAhead(issuedAt, maxAheadSeconds)}`;
      return { machineId, rejection: { code: 'invalid-message', detail, machineId } };
    });
  return {
    assignments: message.assignments.filter((assignment) => !isAhead(assignment)),
    faults: [...message.faults, ...faults],
  };
}

function oneMachine(message: JsonObject): Parsed<WorkOrderListMessage> {
  const assignment = readFields<WorkOrderAssignment>(ASSIGNMENT, message);
  if (!assignment.ok) return naming(assignment, readableMachineId(message));
  return parsed({ assignments: [assignment.value], faults: [] });
}

function severalMachines(message: JsonObject): Parsed<WorkOrderListMessage> {
  const machines = field(message, 'machines');
  if (!isBlank(field(message, 'machineId')) || !isBlank(field(message, 'workingOrders'))) {
    return rejected('invalid-message', 'the message has both machines and a list of its own');
  }
  if (!Array.isArray(machines)) {
    return rejected('invalid-message', `machines must be a list, not ${describeJson(machines)}`);
  }
  if (machines.length === 0) return rejected('invalid-message', 'machines must not be empty');
  if (machines.length > MAX_LIST_LENGTH) {
    return rejected(
      'too-large',
      `machines has ${machines.length} entries, more than ${MAX_LIST_LENGTH}`,
    );
  }
  const ofMessage = readFields<IssuedAt>(ISSUED_AT, message);
  return ofMessage.ok ? parsed(sortEntries(machines, ofMessage.value)) : ofMessage;
}

function sortEntries(entries: readonly unknown[], { issuedAt }: IssuedAt): WorkOrderListMessage {
  const perMachine = new Map<string, Parsed<WorkOrderAssignment>>();
  const faults: WorkOrderListFault[] = [];
  entries.forEach((entry, index) => {
    const outcome = readFields<WorkOrderAssignment>(ASSIGNMENT, entry, `machines[${index}]`);
    if (outcome.ok && issuedAt !== undefined) outcome.value.issuedAt ??= issuedAt;
    const machineId = readableMachineId(entry);
    if (machineId !== undefined) perMachine.set(machineId, outcome);
    else if (!outcome.ok) faults.push({ machineId: null, rejection: outcome.rejection });
  });
  const assignments: WorkOrderAssignment[] = [];
  for (const [machineId, outcome] of perMachine) {
    if (outcome.ok) assignments.push(outcome.value);
    else faults.push({ machineId, rejection: { ...outcome.rejection, machineId } });
  }
  return { assignments, faults };
}

/** The list a machine shall have from now on, in this order; an empty one clears. */
export interface WorkOrderAssignment {
  machineId: string;
  workingOrders: string[];
  /** Epoch seconds; a list older than the last one applied to the machine is superseded. */
  issuedAt?: number;
}

type IssuedAt = Pick<WorkOrderAssignment, 'issuedAt'>;

const ISSUED_AT = { issuedAt: optional(time) };
const ASSIGNMENT = { machineId: identifier, workingOrders: identifiers, ...ISSUED_AT };
