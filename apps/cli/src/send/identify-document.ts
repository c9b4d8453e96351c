import { isJsonObject, type JsonObject, readJson, TOPICS, type TopicName } from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';

/** Where a document belongs and under which key. */
export interface IdentifiedDocument {
  topic: TopicName;
  key: string;
  contentType: string;
}

/**
 * Tells by its shape what a document is: a list names `workingOrders` or `machines`, a reason names
 * a `reasonId` or `reason`, anything else must be an order in a format the bridge reads. So is what has an `orderId`
 * and a `status`, whatever else it says: a cancelled order may give its `reason`.
 *
 * @throws Error saying what is wrong with a document that is none of these
 */
export function identifyDocument(body: Buffer, timeZone: string): IdentifiedDocument {
  const json = readJson(body);
  const fields = json.ok && isJsonObject(json.value) ? json.value : {};
  const contentType = json.ok ? 'application/json' : 'application/xml';
  const isOrder = 'orderId' in fields && 'status' in fields;
  if (!isOrder && ('workingOrders' in fields || 'machines' in fields)) {
    return { topic: TOPICS.workOrderLists, key: firstMachineId(fields), contentType };
  }
  if (!isOrder && ('reasonId' in fields || 'reason' in fields)) {
    return { topic: TOPICS.downtimeReasons, key: text(fields['machineId']), contentType };
  }
  // Without its type: of what is neither JSON nor XML the fault is told in the one that it begins like.
  // Kafka dates the record when it is sent; a document that has no time of its own needs no other
  const orders = readOrderDocument({ contentType: null, body, recordedAt: 0 }, { timeZone });
  // Documents of the operator's own mapping are known to the bridge alone.
  if (!orders.ok) throw new Error(`${orders.rejection.detail}; --topic sends it all the same`);
  const key = orders.value[0]?.order.orderId ?? '';
  return { topic: TOPICS.workOrders, key, contentType };
}

function firstMachineId({ machineId, machines }: JsonObject): string {
  if (machineId !== undefined) return text(machineId);
  const first: unknown = Array.isArray(machines) ? machines[0] : undefined;
  return isJsonObject(first) ? text(first['machineId']) : '';
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
