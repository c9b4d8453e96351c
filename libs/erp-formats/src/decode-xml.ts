import { parsed, rejected, type Parsed } from '#libs/contracts';

/** Encodings an ERP writes; anything else is refused rather than guessed. */
const SUPPORTED = new Set([
  'utf-8',
  'utf8',
  'utf-16le',
  'utf-16be',
  'us-ascii',
  'iso-8859-1',
  'iso-8859-15',
]);

// the declaration is ASCII in every encoding but UTF-16, which announces itself by its byte order mark
const DECLARATION_BYTES = 200;

export function decodeXml(body: Buffer): Parsed<string> {
  const encoding = encodingOf(body);
  if (!SUPPORTED.has(encoding)) {
    return rejected('invalid-message', `the XML is in an encoding that is not read: ${encoding}`);
  }
  try {
    return parsed(new TextDecoder(encoding, { fatal: true }).decode(body));
  } catch {
    return rejected('invalid-message', `the XML is not valid ${encoding}`);
  }
}

export function hasUtf16Mark(body: Buffer): boolean {
  return startsWith(body, 0xff, 0xfe) || startsWith(body, 0xfe, 0xff);
}

function encodingOf(body: Buffer): string {
  if (startsWith(body, 0xff, 0xfe)) return 'utf-16le';
  if (startsWith(body, 0xfe, 0xff)) return 'utf-16be';
  const head = body.subarray(0, DECLARATION_BYTES).toString('latin1');
  const declared = /<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(head)?.[1];
  return declared?.toLowerCase() ?? 'utf-8';
}

function startsWith(body: Buffer, first: number, second: number): boolean {
  return body[0] === first && body[1] === second;
}
