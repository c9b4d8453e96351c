import {
  charsetOf,
  isJsonType,
  MAX_BODY_BYTES,
  mediaType,
  parsed,
  readJson,
  rejected,
  type Parsed,
} from '#libs/contracts';

import type { DocumentContent, OrderDocument } from './order-format.js';
import { decodeXml, type NameOf, readXml, utf16Of } from '../xml/read-xml.js';

const UNSPECIFIC = new Set([null, '', 'text/plain', 'application/octet-stream']);

/**
 * Parses XML or JSON: by the content type or, where that is neither, by the first byte that is not a blank.
 *
 * @param known content types of formats that may be XML or JSON
 * @param nameOf element names of XML, see {@link readXml}
 */
export function readContent(
  { contentType, body }: OrderDocument,
  known: ReadonlySet<string>,
  nameOf?: NameOf,
): Parsed<DocumentContent> {
  const readXmlBody = () => readXmlContent(body, charsetOf(contentType), nameOf);
  const type = mediaType(contentType);
  if (isJsonType(type)) return readJsonContent(body);
  if (isXmlType(type)) return readXmlBody();
  if (!UNSPECIFIC.has(type) && !known.has(type ?? '')) {
    return rejected('invalid-message', `content type ${type ?? ''} is not read`);
  }
  return looksLikeXml(body) ? readXmlBody() : readJsonContent(body);
}

function readJsonContent(body: Buffer): Parsed<DocumentContent> {
  const json = readJson(body);
  return json.ok ? parsed({ json: json.value }) : json;
}

function readXmlContent(
  body: Buffer,
  charset: string | undefined,
  nameOf: NameOf | undefined,
): Parsed<DocumentContent> {
  const root = readXml(body, charset, nameOf);
  return root.ok ? parsed({ root: root.value }) : root;
}

function isXmlType(type: string | null): boolean {
  return type === 'application/xml' || type === 'text/xml' || type?.endsWith('+xml') === true;
}

function looksLikeXml(body: Buffer): boolean {
  const utf16 = utf16Of(body) === undefined ? undefined : decodeXml(body);
  if (utf16?.ok === false) return true;
  // trimStart also removes a byte order mark; a longer body is refused in either syntax
  const text = utf16?.value ?? body.toString('utf8', 0, MAX_BODY_BYTES);
  return text.trimStart().startsWith('<');
}
