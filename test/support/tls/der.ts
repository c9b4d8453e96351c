const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

type Tag = keyof typeof TAG;

/** A value of ASN.1 in the encoding of certificates (X.690): tag, length, content. */
export function der(tag: Tag | number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const first = typeof tag === 'number' ? tag : TAG[tag];
  return Buffer.concat([Buffer.from([first, ...lengthOf(body.length)]), body]);
}

/** The value's tag says which of the alternatives it is. */
export function contextTag(number: number, kind: 'primitive' | 'constructed'): number {
  return (kind === 'primitive' ? 0x80 : 0xa0) + number;
}

/** Encodes an identifier such as 2.5.4.3; its first two arcs share a byte. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der('objectIdentifier', Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Seven bits a byte; all but the last have the eighth set. */
function base128(arc: number): number[] {
  const bytes = [arc & 0x7f];
  for (let rest = arc >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

function lengthOf(bytes: number): number[] {
  if (bytes < 0x80) return [bytes];
  return bytes < 0x100 ? [0x81, bytes] : [0x82, bytes >> 8, bytes & 0xff];
}
