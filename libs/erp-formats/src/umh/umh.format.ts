import {
  field,
  headerText,
  isJsonObject,
  type JsonObject,
  type MessageHeaders,
  type OrderMessage,
  type OrderOperation,
  type OrderStatus,
  parsed,
  type Parsed,
  readEpochSeconds,
  rejected,
} from '#libs/contracts';
import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';

const ID = 'external_work_order_id';

/** Work orders of the United Manufacturing Hub's `_analytics` contract, snake or camel case: create, start, stop. */
export const umh: OrderFormat = {
  name: 'UMH work orders',
  recognises: ({ json }) => isJsonObject(json) && hasField(json, ID),
  readMessages: ({ json }, context) => {
    const message = readUmhWorkOrder(isJsonObject(json) ? json : {}, context);
    return message.ok ? parsed([message.value]) : message;
  },
};

function hasField(message: JsonObject, name: string): boolean {
  return Object.hasOwn(message, name) || Object.hasOwn(message, camelCase(name));
}

/** A field by its name in snake case, else in camel case. */
function valueOf(message: JsonObject, name: string): unknown {
  return field(message, name) ?? field(message, camelCase(name));
}

function camelCase(name: string): string {
  return name.replace(/_(.)/g, (_, initial: string) => initial.toUpperCase());
}

/** Index: the number in `status`. */
const STATUSES: readonly OrderStatus[] = ['planned', 'started', 'completed'];

export const UMH_TOPIC_MISSING =
  'a create needs its topic, which says where: in header umh_topic or source-topic, or as the key';

/** The message is the order, so a field's name is its path. */
const noPath = () => '';

/** A `create` has the whole order. `start` and `stop` change its status, and its place if their topic names one. */
function readUmhWorkOrder(
  message: JsonObject,
  { sourceTopic, recordedAt }: ReadingContext,
): Parsed<OrderMessage> {
  const other = whyNoWorkOrder(message, sourceTopic);
  if (other !== undefined) return rejected('invalid-message', other);
  const orderId = valueOf(message, ID);
  if (typeof orderId !== 'string') return rejected('invalid-message', `${ID} must be a string`);
  const start = readUmhTime(message, 'start_time');
  if (!start.ok) return start;
  const end = readUmhTime(message, 'end_time');
  if (!end.ok) return end;
  const action = actionOf(sourceTopic) ?? actionByShape(message, start.value, end.value);
  const status = statusAfter(action, message);
  if (status === undefined) {
    return rejected('invalid-message', 'status must be 0 (planned), 1 (started) or 2 (completed)');
  }
  // the record's time first: start_time may be earlier than that of a late create, which has no time of its own
  const changedAt = recordedAt ?? end.value ?? start.value;
  if (changedAt === undefined) {
    return rejected('invalid-message', 'neither the record nor start_time_unix_ms dates it');
  }
  const frame = { orderId, changedAt, status };
  const location = locationOf(sourceTopic);
  const operation: OrderOperation | undefined = location && { ...location, status };
  if (action !== 'create') {
    return changeMessage(noPath, operation ? { ...frame, operations: [operation] } : frame);
  }
  if (operation === undefined) {
    const why = `the topic names no place below a site: ${sourceTopic ?? ''}`;
    return rejected('invalid-message', sourceTopic === null ? UMH_TOPIC_MISSING : why);
  }
  if (start.value !== undefined) operation.plannedStart = start.value;
  return snapshotMessage(noPath, { ...frame, operations: [operation] });
}

/** The action where the topic does not name it: only a create has a product. */
function actionByShape(
  message: JsonObject,
  start: number | undefined,
  end: number | undefined,
): UmhAction {
  if (hasField(message, 'product') || hasField(message, 'quantity')) return 'create';
  if (end !== undefined) return 'stop';
  return start === undefined ? 'create' : 'start';
}

function statusAfter(action: UmhAction, message: JsonObject): OrderStatus | undefined {
  if (action !== 'create') return action === 'start' ? 'started' : 'completed';
  const number = message['status'] ?? 0;
  return typeof number === 'number' ? STATUSES[number] : undefined;
}

const ALL_THAT_IS_READ =
  'of the _analytics contract only work-order create, start and stop are read';

/** Fields of messages about products only. The product of a work order is in `product`. */
const PRODUCT_FIELDS = ['external_product_type_id', 'product_batch_id', 'bad_quantity'] as const;

/**
 * Why a message that names a work order is not a work order, by its topic or, where that is unknown, by its fields;
 * undefined where it may be one.
 */
function whyNoWorkOrder(message: JsonObject, topic: string | null): string | undefined {
  if (actionOf(topic) !== undefined) return undefined;
  const [, ending] = /\._analytics\.([^]+)$/.exec(topic ?? '') ?? [];
  if (ending !== undefined && ending !== 'work-order') {
    return `the topic ends in _analytics.${ending.slice(0, 100)}; ${ALL_THAT_IS_READ}`;
  }
  const productField = PRODUCT_FIELDS.find((name) => hasField(message, name));
  return productField && `${productField} makes it a message about products; ${ALL_THAT_IS_READ}`;
}

/** `<name>_unix_ms` in milliseconds, or `<name>` in RFC 3339, as epoch seconds. */
function readUmhTime(
  message: JsonObject,
  name: 'start_time' | 'end_time',
): Parsed<number | undefined> {
  const milliseconds = valueOf(message, `${name}_unix_ms`) ?? undefined;
  const found = milliseconds === undefined ? name : `${name}_unix_ms`;
  const value = milliseconds ?? valueOf(message, name) ?? undefined;
  if (value === undefined || value === '') return parsed(undefined);
  if (milliseconds !== undefined && !Number.isSafeInteger(milliseconds)) {
    return rejected('invalid-message', `${found} must be whole milliseconds`);
  }
  const reading = readEpochSeconds(
    typeof milliseconds === 'number' ? Math.floor(milliseconds / 1000) : value,
  );
  return reading.ok
    ? parsed(reading.seconds)
    : rejected('invalid-message', `${found} ${reading.problem}`);
}

const ROOT = 'umh.v1.';
const WORK_ORDER = /\._analytics\.work-order(?:\.|$)/;

/**
 * The topic to which a message was first published: UMH's bridge and others write it into a header, UMH itself into the
 * record's key. Null where neither has it.
 */
export function sourceTopicOf(message: {
  headers: MessageHeaders;
  key: Buffer | null;
}): string | null {
  const { headers } = message;
  const header = headerText(headers, 'umh_topic') ?? headerText(headers, 'source-topic');
  if (header !== null) return header;
  const key = message.key?.toString('utf8') ?? '';
  return key.startsWith(ROOT) ? key : null;
}

/**
 * The place of a work order, from a topic
 * `umh.v1.<enterprise>.<site>.<area>.<line>.<cell>._analytics.work-order.<action>`. The work centre is the levels below
 * the site, joined by dots, because two lines may have cells of the same name. Undefined for a topic without an area,
 * or another one. A work order has one operation.
 */
function locationOf(topic: string | null): Omit<OrderOperation, 'status'> | undefined {
  if (topic?.startsWith(ROOT) !== true || !WORK_ORDER.test(topic)) return undefined;
  const [, plant, ...below] = topic.slice(ROOT.length, topic.search(WORK_ORDER)).split('.');
  if (plant === undefined || below.length === 0) return undefined;
  return { operationId: '1', plant, workCentre: below.join('.') };
}

type UmhAction = 'create' | 'start' | 'stop';

/** The action that a topic ends in. */
function actionOf(topic: string | null): UmhAction | undefined {
  const action = /\.work-order\.(create|start|stop)$/.exec(topic ?? '')?.[1];
  return action as UmhAction | undefined;
}
