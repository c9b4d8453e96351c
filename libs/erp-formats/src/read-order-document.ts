import {
  isJsonType,
  mediaType,
  parseOrderMessage,
  parsed,
  readJson,
  rejected,
  type OrderSnapshot,
  type Parsed,
} from '#libs/contracts';

import { hasUtf16Mark } from './decode-xml.js';
import { readXml } from './read-xml.js';
import { isSapOrderDocument, readSapOrders } from './sap-order-document.js';

export interface OrderDocument {
  contentType: string | null;
  body: Buffer;
}

export interface OrderDocumentOptions {
  /** IANA zone of local times in documents that state none. */
  timeZone: string;
}

const SUPPORTED = 'order JSON and SAP LOIPRO01 to LOIPRO05 IDoc XML are read';
const UNSPECIFIC = new Set([null, '', 'text/plain', 'application/octet-stream']);

/**
 * Reads what arrives on `erp.work-orders.v1`: the canonical JSON or a foreign document, told apart by
 * content type and, where that says nothing, by the first byte. A foreign document may hold several
 * orders; one bad order refuses it whole. Refusals: `invalid-json`, `invalid-message`, `too-large`.
 */
export function readOrderDocument(
  document: OrderDocument,
  options: OrderDocumentOptions,
): Parsed<OrderSnapshot[]> {
  const type = mediaType(document.contentType);
  if (isJsonType(type)) return readJsonOrder(document.body);
  if (isXmlType(type)) return readXmlOrders(document.body, options);
  if (!UNSPECIFIC.has(type)) {
    return rejected('invalid-message', `content type ${type ?? ''} is not read; ${SUPPORTED}`);
  }
  return looksLikeXml(document.body)
    ? readXmlOrders(document.body, options)
    : readJsonOrder(document.body);
}

function readJsonOrder(body: Buffer): Parsed<OrderSnapshot[]> {
  const json = readJson(body);
  if (!json.ok) return json;
  const order = parseOrderMessage(json.value);
  return order.ok ? parsed([order.value]) : order;
}

function readXmlOrders(body: Buffer, options: OrderDocumentOptions): Parsed<OrderSnapshot[]> {
  const xml = readXml(body);
  if (!xml.ok) return xml;
  if (isSapOrderDocument(xml.value)) return readSapOrders(xml.value.root, options.timeZone);
  return rejected(
    'invalid-message',
    `the XML root ${xml.value.rootName.slice(0, 100)} is not read; ${SUPPORTED}`,
  );
}

function isXmlType(type: string | null): boolean {
  return type === 'application/xml' || type === 'text/xml' || type?.endsWith('+xml') === true;
}

function looksLikeXml(body: Buffer): boolean {
  const head = body.subarray(0, 64).toString('utf8').replace('\ufeff', '').trimStart();
  return head.startsWith('<') || hasUtf16Mark(body);
}
