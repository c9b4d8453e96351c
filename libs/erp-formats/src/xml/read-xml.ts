import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { MAX_BODY_BYTES, parsed, type Parsed, rejected, type RejectionCode } from '#libs/contracts';
import { decodeXml } from './decode-xml.js';
import { type DocumentElement, elementName } from './document-element.js';

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

const MAX_DEPTH = 64;
/** A megabyte of the densest real documents has a quarter of it. */
const MAX_ELEMENTS = 100_000;

/** Ends the reading of a document. */
class XmlFault extends Error {
  constructor(
    message: string,
    readonly code: RejectionCode = 'invalid-message',
  ) {
    super(message);
  }
}

interface OpenElement {
  name: string;
  parent: OpenElement | null;
  children: OpenElement[];
  text: string;
  attributes: Record<string, string>;
}

/** The root of a well-formed document. Throws {@link XmlFault}. */
function buildElements(xml: string): DocumentElement {
  const parser = new SaxesParser({ xmlns: false });
  const parts = new ElementBuilder();
  // the parser's own words quote the document
  parser.on('error', () => {
    throw new XmlFault(`the XML is not well-formed at ${placeOf(parser)}`);
  });
  parser.on('doctype', () => {
    throw new XmlFault('an XML document with a document type is refused');
  });
  parser.on('opentag', (tag) => {
    parts.open(tag, parser);
  });
  parser.on('text', (text) => {
    parts.write(text);
  });
  parser.on('cdata', (text) => {
    parts.write(text);
  });
  parser.on('closetag', () => {
    parts.close();
  });
  parser.write(xml).close();
  if (parts.root === null) throw new XmlFault('the XML is not well-formed: it has no root');
  return parts.root;
}

class ElementBuilder {
  root: OpenElement | null = null;
  private current: OpenElement | null = null;
  private depth = 0;
  private count = 0;

  open(tag: SaxesTagPlain, parser: SaxesParser<{ xmlns: false }>): void {
    this.depth += 1;
    this.count += 1;
    if (this.depth > MAX_DEPTH) {
      throw new XmlFault(`the XML has more than ${MAX_DEPTH} levels at ${placeOf(parser)}`);
    }
    if (this.count > MAX_ELEMENTS) {
      throw new XmlFault(`the XML has more than ${MAX_ELEMENTS} elements`, 'too-large');
    }
    const parent = this.current;
    const name = elementName(tag.name.slice(tag.name.indexOf(':') + 1));
    const element = { name, parent, children: [], text: '', attributes: tag.attributes };
    if (parent === null) this.root = element;
    else parent.children.push(element);
    this.current = element;
  }

  write(text: string): void {
    if (this.current !== null) this.current.text += text;
  }

  close(): void {
    if (this.current === null) return;
    this.current.text = this.current.text.trim();
    this.current = this.current.parent;
    this.depth -= 1;
  }
}

function placeOf({ line, column }: SaxesParser<{ xmlns: false }>): string {
  return `line ${line}, column ${column}`;
}
