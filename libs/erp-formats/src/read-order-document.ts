import { mediaType, rejected, type OrderMessage, type Parsed, type Refused } from '#libs/contracts';

import { FORMATS } from './formats.js';
import type {
  DocumentContent,
  OrderDocument,
  OrderDocumentOptions,
  OrderFormat,
} from './order-format.js';
import { readContent } from './read-content.js';
import { unwrapSoap } from './xml/unwrap-soap.js';

const BY_MEDIA_TYPE = new Map(
  FORMATS.flatMap((format) => format.mediaTypes.map((type) => [type, format] as const)),
);
const NAMED_TYPES = new Set(BY_MEDIA_TYPE.keys());

/**
 * Reads what arrives on `erp.work-orders.v1`, in any format of the registry: the one its content type names,
 * else the first that knows its root element or shape. A document may hold several orders; one bad order
 * refuses it whole. Refusals: `invalid-json`, `invalid-message`, `too-large`, with the place of the fault.
 */
export function readOrderDocument(
  document: OrderDocument,
  { timeZone }: OrderDocumentOptions,
): Parsed<OrderMessage[]> {
  const content = readContent(document, NAMED_TYPES);
  if (!content.ok) return content;
  const unwrapped = unwrap(content.value);
  const named = BY_MEDIA_TYPE.get(mediaType(document.contentType) ?? '');
  const format = (named === undefined ? FORMATS : [named]).find((each) =>
    each.recognises(unwrapped),
  );
  if (format === undefined) return unknownFormat(unwrapped, named);
  const { sourceTopic = null, recordedAt } = document;
  return format.read(unwrapped, { timeZone, sourceTopic, recordedAt });
}

function unwrap(content: DocumentContent): DocumentContent {
  return content.syntax === 'xml' ? { syntax: 'xml', root: unwrapSoap(content.root) } : content;
}

function unknownFormat(content: DocumentContent, named: OrderFormat | undefined): Refused {
  const found = content.syntax === 'xml' ? `XML root ${content.root.name.slice(0, 100)}` : 'JSON';
  if (named !== undefined) {
    return rejected('invalid-message', `the content type says ${named.name}, the ${found} is not`);
  }
  const known = FORMATS.map(({ name }) => name).join(', ');
  return rejected('invalid-message', `the ${found} is not read; formats: ${known}`);
}
