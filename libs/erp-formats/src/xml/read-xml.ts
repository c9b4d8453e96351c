import { MAX_BODY_BYTES, parsed, rejected, type Parsed } from '#libs/contracts';

import { buildElements, XmlFault } from './build-elements.js';
import { decodeXml } from './decode-xml.js';
import type { DocumentElement } from './document-element.js';

/**
 * Reads a document without a document type: no entity but the five of the language, no file, no network.
 * Refusals: `too-large` (bytes, elements), `invalid-message` (an unknown encoding, a document type, more than
 * 64 levels, what is not well-formed). They name the place, never the content.
 *
 * @param charset of its content type: how it is encoded where it does not say so itself
 */
export function readXml(body: Buffer, charset?: string): Parsed<DocumentElement> {
  if (body.length > MAX_BODY_BYTES) {
    return rejected('too-large', `the body has ${body.length} bytes, more than ${MAX_BODY_BYTES}`);
  }
  const text = decodeXml(body, charset);
  if (!text.ok) return text;
  try {
    return parsed(buildElements(text.value));
  } catch (error) {
    if (error instanceof XmlFault) return rejected(error.code, error.message);
    throw error;
  }
}
