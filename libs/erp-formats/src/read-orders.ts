import {
  describeAhead,
  isJsonObject,
  isOlderVersion,
  MAX_LIST_LENGTH,
  mediaType,
  type OrderMessage,
  type OrderSnapshot,
  type Parsed,
  parseOrderMessage,
  type Refused,
  rejected,
  STRUCTURED_MODE,
} from '#libs/contracts';
import type { OrderMapping } from './mapping/order-mapping.js';
import type {
  DocumentContent,
  OrderDocument,
  OrderDocumentOptions,
  OrderFormat,
} from './document/order-format.js';
import { withPath } from './document/checked-message.js';
import { readContent } from './document/read-content.js';
import { type DocumentElement, elementName, onlyElement } from './xml/document-element.js';
import { b2mml } from './b2mml/b2mml.format.js';
import { canonical } from './canonical/canonical.format.js';
import { dynamics } from './dynamics/dynamics.format.js';
import { erpNext } from './erpnext/erpnext.format.js';
import { odoo } from './odoo/odoo.format.js';
import { opcJobOrder } from './opc-job-order/opc-job-order.format.js';
import { oracle } from './oracle/oracle.format.js';
import { sapIdoc } from './sap-idoc/sap-idoc.format.js';
import { sapOData } from './sap-odata/sap-odata.format.js';
import { sapODataV4 } from './sap-odata-v4/sap-odata-v4.format.js';
import { umh } from './umh/umh.format.js';

type Read = Parsed<OrderMessage[]>;

export interface OrderReadOptions extends OrderDocumentOptions {
  /** Limit for `changedAt` ahead of the clock. */
  commandMaxSkewSeconds: number;
}

/**
 * Reads a document with the operator's expression that applies to it, else with an adapter. In every format it refuses
 * (`invalid-message`) a `changedAt` too far ahead of the clock, which would supersede all later messages until then,
 * and an order in parts.
 */
export function readOrders(
  document: OrderDocument,
  { timeZone, commandMaxSkewSeconds }: OrderReadOptions,
  mapping: OrderMapping,
  nowSeconds: number,
): Read | Promise<Read> {
  const check = (read: Read): Read => {
    if (!read.ok) return read;
    const part = partOfOrder(read.value);
    if (part !== undefined) {
      const remedy = 'with no operation in common: send it once, with all of its operations';
      return rejected('invalid-message', `the document has order ${part} several times, ${remedy}`);
    }
    const latest = nowSeconds + commandMaxSkewSeconds;
    const ahead = read.value.find(({ order }) => order.changedAt > latest);
    if (ahead === undefined) return read;
    const { orderId, changedAt } = ahead.order;
    const problem = describeAhead(changedAt, commandMaxSkewSeconds);
    return rejected('invalid-message', `changedAt of order ${orderId}: ${problem}`);
  };
  const read =
    mapping.readWithMapping(document, { timeZone }) ?? readOrderDocument(document, { timeZone });
  return read instanceof Promise ? read.then(check) : check(read);
}

/**
 * The id of an order with two snapshots of the same time and no operation in common, as an expression yields that makes
 * an order of each row with an operation. The last snapshot would remove the operations of the others from the
 * machines.
 */
function partOfOrder(messages: readonly OrderMessage[]): string | undefined {
  if (messages.length < 2) return undefined;
  const wholes = new Map<string, OrderSnapshot>();
  for (const message of messages) {
    if (message.kind !== 'snapshot' || message.order.operations.length === 0) continue;
    const { order } = message;
    const other = wholes.get(order.orderId);
    if (other !== undefined && !isOlderVersion(order, other) && !isOlderVersion(other, order)) {
      const ids = new Set(other.operations.map(({ operationId }) => operationId));
      if (!order.operations.some(({ operationId }) => ids.has(operationId))) return order.orderId;
    }
    wholes.set(order.orderId, order);
  }
  return undefined;
}

/** In the order of recognition. */
export const FORMATS: readonly OrderFormat[] = [
  canonical,
  sapIdoc,
  // its job orders have the same name as those of B2MML
  opcJobOrder,
  b2mml,
  // documents of both have `ProductionOrder`
  sapODataV4,
  sapOData,
  dynamics,
  odoo,
  oracle,
  erpNext,
  umh,
];

const BY_MEDIA_TYPE = new Map(
  FORMATS.flatMap((format) => (format.mediaTypes ?? []).map((type) => [type, format] as const)),
);
const NAMED_TYPES = new Set(BY_MEDIA_TYPE.keys());

/**
 * Reads a document of `erp.work-orders.v1` in one of {@link FORMATS}: the one that its content type names, else the
 * first that recognises its root element or shape. A document may have several orders; one bad order refuses the whole
 * document. Refusals: `invalid-json`, `invalid-message`, `too-large`, with the format and the path of the fault.
 */
export function readOrderDocument(
  document: OrderDocument,
  { timeZone }: OrderDocumentOptions,
): Parsed<OrderMessage[]> {
  const content = readContent(document, NAMED_TYPES, elementName);
  if (!content.ok) return content;
  const { root } = content.value;
  const unwrapped = root === undefined ? content.value : { root: unwrapSoap(root) };
  const format =
    BY_MEDIA_TYPE.get(mediaType(document.contentType) ?? '') ??
    FORMATS.find((each) => each.recognises(unwrapped));
  if (format === undefined) return unknownFormat(unwrapped);
  const { sourceTopic = null, recordedAt } = document;
  const messages = format.readMessages(unwrapped, { timeZone, sourceTopic, recordedAt });
  if (!messages.ok) return format === canonical ? messages : withPath(format.name, messages);
  if (messages.value.length <= MAX_LIST_LENGTH) return messages;
  const found = `${messages.value.length} orders, more than ${MAX_LIST_LENGTH}`;
  return rejected('too-large', `the document holds ${found}`);
}

/** JSON without a field of any other format is probably the bridge's own with a mistake. */
function unknownFormat({ json, root }: DocumentContent): Refused {
  const known = `formats: ${FORMATS.map(({ name }) => name).join(', ')}`;
  if (root !== undefined) {
    const name = root.name.slice(0, 100);
    return rejected('invalid-message', `the XML root ${name} is not read; ${known}`);
  }
  if (isJsonObject(json) && Object.hasOwn(json, 'specversion')) {
    const what = `a CloudEvent with its data in it needs content type ${STRUCTURED_MODE}`;
    return rejected('invalid-message', what);
  }
  for (const format of FORMATS) {
    const lacked = format.missingField?.(json);
    if (lacked === undefined) continue;
    return withPath(format.name, rejected('invalid-message', `${lacked} is missing`));
  }
  const order = parseOrderMessage(json);
  const fault = order.ok ? 'the JSON is not read' : order.rejection.detail;
  return rejected('invalid-message', `${fault}; ${known}`);
}

/** The document within a SOAP envelope, or the root itself. */
function unwrapSoap(root: DocumentElement): DocumentElement {
  if (root.name !== 'Envelope') return root;
  const content = onlyElement(root, 'Body')?.children ?? [];
  return content.length === 1 && content[0] !== undefined ? content[0] : root;
}
