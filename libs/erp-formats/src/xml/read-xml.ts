import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { MAX_BODY_BYTES, parsed, type Parsed, rejected, type RejectionCode } from '#libs/contracts';
import type { DocumentElement, OpenElement } from './document-element.js';

/**
 * Parses XML without a document type: only the five predefined entities, no file, no network. Refusals: `too-large`
 * (bytes, elements), `invalid-message` (an unknown encoding, a document type, more than 64 levels, XML that is not
 * well-formed). They name the position, never the content.
 *
 * @param charset of the content type, for a document that does not declare its encoding
 * @param nameOf maps the written name of an element, without its prefix
 */
export function readXml(
  body: Buffer,
  charset?: string,
  nameOf: NameOf = asWritten,
): Parsed<DocumentElement> {
  if (body.length > MAX_BODY_BYTES) {
    return rejected('too-large', `the body has ${body.length} bytes, more than ${MAX_BODY_BYTES}`);
  }
  const text = decodeXml(body, charset);
  if (!text.ok) return text;
  try {
    return parsed(buildElements(text.value, nameOf));
  } catch (error) {
    if (error instanceof XmlFault) return rejected(error.code, error.message);
    throw error;
  }
}

export type NameOf = (written: string) => string;

const asWritten: NameOf = (written) => written;

const MAX_DEPTH = 64;
/** A megabyte of the densest real documents has a quarter of this. */
const MAX_ELEMENTS = 100_000;

/** Aborts the parsing. */
class XmlFault extends Error {
  constructor(
    message: string,
    readonly code: RejectionCode = 'invalid-message',
  ) {
    super(message);
  }
}

/** Returns the root. Throws {@link XmlFault}. */
function buildElements(xml: string, nameOf: NameOf): DocumentElement {
  const parser = new SaxesParser({ xmlns: false });
  const parts = new ElementBuilder(nameOf);
  // the parser's own messages quote the document
  parser.on('error', () => {
    throw new XmlFault(`the XML is not well-formed at ${placeOf(parser)}`);
  });
  parser.on('doctype', () => {
    throw new XmlFault('an XML document with a document type is refused');
  });
  parser.on('opentag', (tag) => parts.openElement(tag, parser));
  parser.on('text', (text) => parts.addText(text));
  parser.on('cdata', (text) => parts.addText(text));
  parser.on('closetag', () => parts.closeElement());
  parser.write(xml).close();
  if (parts.root === null) throw new XmlFault('the XML is not well-formed: it has no root');
  return parts.root;
}

class ElementBuilder {
  root: OpenElement | null = null;
  private current: OpenElement | null = null;
  private depth = 0;
  private count = 0;

  constructor(private readonly nameOf: NameOf) {}

  openElement(tag: SaxesTagPlain, parser: SaxesParser<{ xmlns: false }>): void {
    this.depth += 1;
    this.count += 1;
    if (this.depth > MAX_DEPTH) {
      throw new XmlFault(`the XML has more than ${MAX_DEPTH} levels at ${placeOf(parser)}`);
    }
    if (this.count > MAX_ELEMENTS) {
      throw new XmlFault(`the XML has more than ${MAX_ELEMENTS} elements`, 'too-large');
    }
    const parent = this.current;
    const name = this.nameOf(tag.name.slice(tag.name.indexOf(':') + 1));
    const element = { name, parent, children: [], text: '', attributes: tag.attributes };
    if (parent === null) this.root = element;
    else parent.children.push(element);
    this.current = element;
  }

  addText(text: string): void {
    if (this.current !== null) this.current.text += text;
  }

  closeElement(): void {
    if (this.current === null) return;
    this.current.text = this.current.text.trim();
    if (this.current.text === '' && this.current.children.length > 0)
      this.current.notText = 'elements';
    this.current = this.current.parent;
    this.depth -= 1;
  }
}

function placeOf({ line, column }: SaxesParser<{ xmlns: false }>): string {
  return `line ${line}, column ${column}`;
}

/** Throws a TypeError for bytes that are invalid in the encoding. */
type Decode = (body: Buffer) => string;

/** Encodings that ERPs write, by declared name; any other is refused, not guessed. */
const DECODERS: ReadonlyMap<string, Decode> = new Map([
  ...['utf-8', 'utf8', 'utf-16le', 'utf-16be', 'iso-8859-15'].map(standardDecoder),
  ...['windows-1252', 'cp1252', 'iso-8859-1', 'latin1', 'us-ascii', 'ascii'].map(
    (name) => [name, decodeWindows1252] as const,
  ),
]);

/** Characters of the bytes 0x80 to 0x9f; five of these bytes have none. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

// the declaration is ASCII in every encoding but UTF-16
const DECLARATION_BYTES = 200;

/** Decodes by the byte order mark, else by the declaration, else by `charset`, else as UTF-8. */
export function decodeXml(body: Buffer, charset?: string): Parsed<string> {
  const encoding = encodingOf(body, charset);
  const decode = DECODERS.get(encoding);
  if (decode === undefined) {
    return rejected('invalid-message', `the XML is in an encoding that is not read: ${encoding}`);
  }
  try {
    return parsed(decode(body));
  } catch {
    return rejected('invalid-message', `the XML is not valid ${encoding}`);
  }
}

/** Detects UTF-16 by its byte order mark or, without one, by the zero beside the first bracket. */
export function utf16Of(body: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (startsWith(body, 0xff, 0xfe) || startsWith(body, 0x3c, 0x00)) return 'utf-16le';
  if (startsWith(body, 0xfe, 0xff) || startsWith(body, 0x00, 0x3c)) return 'utf-16be';
  return undefined;
}

function encodingOf(body: Buffer, charset = 'utf-8'): string {
  const utf16 = utf16Of(body);
  if (utf16 !== undefined) return utf16;
  if (startsWith(body, 0xef, 0xbb) && body[2] === 0xbf) return 'utf-8';
  const head = body.subarray(0, DECLARATION_BYTES).toString('latin1');
  const declared = /<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(head)?.[1];
  // an unknown charset in a header is ignored: headers are often set by programs that do not know the document
  const encoding = declared?.toLowerCase() ?? (DECODERS.has(charset) ? charset : 'utf-8');
  // the declaration was readable byte by byte, so a document that declares UTF-16 was sent as UTF-8
  return encoding.startsWith('utf-16') ? 'utf-8' : encoding;
}

function startsWith(body: Buffer, first: number, second: number): boolean {
  return body[0] === first && body[1] === second;
}

function standardDecoder(encoding: string): [string, Decode] {
  const decoder = new TextDecoder(encoding, { fatal: true });
  return [encoding, (body) => decoder.decode(body)];
}

/**
 * Decodes Latin 1 too, as browsers do: where the two differ, Latin 1 has only controls. Written by hand, because the
 * TextDecoder of Node 20 reads windows-1252 as Latin 1.
 */
function decodeWindows1252(body: Buffer): string {
  return body
    .toString('latin1')
    .replace(/[\u0080-\u009f]/g, (char) => WINDOWS_1252.charAt(char.charCodeAt(0) - 0x80));
}
