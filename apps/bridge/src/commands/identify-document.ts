import { TOPICS, type TopicName } from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';

/** Where a document belongs and under which key. */
export interface IdentifiedDocument {
  topic: TopicName;
  key: string;
  contentType: string;
}

type Fields = Record<string, unknown>;

/**
 * Tells by its shape what a document is: a list names `workingOrders` or `machines`, a reason names
 * a `reasonId` or `reason`, anything else must be an order in a format the bridge reads.
 *
 * @throws Error saying what is wrong with a document that is none of these
 */
export function identifyDocument(body: Buffer, timeZone: string): IdentifiedDocument {
  const fields = readFields(body);
  const contentType = fields === undefined ? 'application/xml' : 'application/json';
  if (fields !== undefined && ('workingOrders' in fields || 'machines' in fields)) {
    return { topic: TOPICS.workOrderLists, key: firstMachineId(fields), contentType };
  }
  if (fields !== undefined && ('reasonId' in fields || 'reason' in fields)) {
    return { topic: TOPICS.downtimeReasons, key: text(fields['machineId']), contentType };
  }
  // Kafka dates the record when it is sent; a document that has no time of its own needs no other
  const orders = readOrderDocument({ contentType, body, recordedAt: 0 }, { timeZone });
  if (!orders.ok) throw new Error(orders.rejection.detail);
  const key = orders.value[0]?.order.orderId ?? '';
  return { topic: TOPICS.workOrders, key, contentType };
}

function readFields(body: Buffer): Fields | undefined {
  try {
    const json: unknown = JSON.parse(body.toString());
    return typeof json === 'object' && json !== null ? (json as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function firstMachineId({ machineId, machines }: Fields): string {
  if (machineId !== undefined) return text(machineId);
  const first: unknown = Array.isArray(machines) ? machines[0] : undefined;
  return typeof first === 'object' && first !== null ? text((first as Fields)['machineId']) : '';
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
