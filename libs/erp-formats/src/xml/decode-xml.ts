import { parsed, rejected, type Parsed } from '#libs/contracts';

/** Encodings an ERP writes, by the name it declares; anything else is refused rather than guessed. */
const DECODERS = new Map(
  [
    'utf-8',
    'utf8',
    'utf-16le',
    'utf-16be',
    'us-ascii',
    'iso-8859-1',
    'iso-8859-15',
    'windows-1252',
  ].map((encoding) => [encoding, new TextDecoder(encoding, { fatal: true })]),
);

// the declaration is ASCII in every encoding but UTF-16
const DECLARATION_BYTES = 200;

export function decodeXml(body: Buffer): Parsed<string> {
  const encoding = encodingOf(body);
  const decoder = DECODERS.get(encoding);
  if (decoder === undefined) {
    return rejected('invalid-message', `the XML is in an encoding that is not read: ${encoding}`);
  }
  try {
    return parsed(decoder.decode(body));
  } catch {
    return rejected('invalid-message', `the XML is not valid ${encoding}`);
  }
}

/** UTF-16 by its byte order mark or, without one, by the zero beside the first bracket. */
export function utf16Of(body: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (startsWith(body, 0xff, 0xfe) || startsWith(body, 0x3c, 0x00)) return 'utf-16le';
  if (startsWith(body, 0xfe, 0xff) || startsWith(body, 0x00, 0x3c)) return 'utf-16be';
  return undefined;
}

function encodingOf(body: Buffer): string {
  const utf16 = utf16Of(body);
  if (utf16 !== undefined) return utf16;
  if (startsWith(body, 0xef, 0xbb) && body[2] === 0xbf) return 'utf-8';
  const head = body.subarray(0, DECLARATION_BYTES).toString('latin1');
  const declared = /<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(head)?.[1];
  const encoding = declared?.toLowerCase() ?? 'utf-8';
  // it can be read byte by byte, so UTF-16 it is not: a text that declares it was sent as UTF-8
  return encoding === 'utf-16' ? 'utf-8' : encoding;
}

function startsWith(body: Buffer, first: number, second: number): boolean {
  return body[0] === first && body[1] === second;
}
