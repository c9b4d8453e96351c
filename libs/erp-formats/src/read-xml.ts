import { XMLParser } from 'fast-xml-parser';

import { MAX_BODY_BYTES, parsed, rejected, type Parsed } from '#libs/contracts';

import { hasBalancedTags } from './balanced-tags.js';
import { decodeXml } from './decode-xml.js';

/** An element with children: read them with {@link elements}, its leaves with {@link textOf}. */
export type XmlElement = Readonly<Record<string, unknown>>;

export interface XmlDocument {
  rootName: string;
  root: XmlElement;
}

const MAX_DEPTH = 64;

/**
 * Values stay text, for leading zeros carry meaning in SAP. The predefined entities are decoded; a document type,
 * the only way to define others, never gets this far.
 */
const parser = new XMLParser({
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  removeNSPrefix: true,
  maxNestedTags: MAX_DEPTH,
});

/** Refusals: `too-large`, `invalid-message` (unknown encoding, a document type, XML that is not well-formed). */
export function readXml(body: Buffer): Parsed<XmlDocument> {
  if (body.length > MAX_BODY_BYTES) {
    return rejected('too-large', `the body has ${body.length} bytes, more than ${MAX_BODY_BYTES}`);
  }
  const text = decodeXml(body);
  if (!text.ok) return text;
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text.value)) {
    return rejected('invalid-message', 'an XML document with a document type is refused');
  }
  const [rootName, root] = Object.entries(parse(text.value) ?? {})[0] ?? [];
  if (rootName === undefined) {
    return rejected(
      'invalid-message',
      `the body is no well-formed XML of at most ${MAX_DEPTH} levels`,
    );
  }
  return parsed({ rootName, root: isElement(root) ? root : {} });
}

/** Child elements of a name, in document order; text where an element belongs counts as none. */
export function elements(parent: XmlElement, name: string): XmlElement[] {
  const children = Object.hasOwn(parent, name) ? parent[name] : undefined;
  return (Array.isArray(children) ? (children as unknown[]) : [children]).filter(isElement);
}

/** Text of a child that occurs once, trimmed; undefined when absent or empty. */
export function textOf(parent: XmlElement, name: string): string | undefined {
  const text = Object.hasOwn(parent, name) ? parent[name] : undefined;
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined;
}

function parse(text: string): XmlElement | undefined {
  try {
    if (!hasBalancedTags(text, MAX_DEPTH)) return undefined;
    const document: unknown = parser.parse(text);
    return isElement(document) ? document : undefined;
  } catch {
    return undefined;
  }
}

function isElement(value: unknown): value is XmlElement {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
