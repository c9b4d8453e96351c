import { isJsonObject, type JsonObject, readJson, TOPICS, type TopicName } from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';

/** The topic and the key of a document. */
export interface IdentifiedDocument {
  topic: TopicName;
  key: string;
  contentType: string;
}

/**
 * Identifies a document by its shape: a list has `workingOrders` or `machines`, a reason has `reasonId` or `reason`,
 * anything else must be an order in a format the bridge reads. A document with `orderId` and `status` is an order in
 * any case: a cancelled order may have a `reason`.
 *
 * @throws Error saying what is wrong with a document of neither kind
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
  // Without a content type the fault of a broken document is described in the syntax that it begins like. Any
  // recordedAt will do: Kafka dates the record when it is sent.
  const orders = readOrderDocument({ contentType: null, body, recordedAt: 0 }, { timeZone });
  // It may be a document for the bridge's mapping file, which is not read here.
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
