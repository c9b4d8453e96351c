import fc from 'fast-check';

import { MAX_BODY_BYTES } from '#libs/contracts';

import { elements, pathOf, textOf, type DocumentElement } from './document-element.js';
import { readXml } from './read-xml.js';

function read(body: Buffer | string): DocumentElement {
  const xml = readXml(Buffer.from(body));
  if (!xml.ok) throw new Error(`${xml.rejection.code}: ${xml.rejection.detail}`);
  return xml.value;
}
const fill = (start: string, bytes: number, end = ''): string =>
  start.repeat(Math.floor(bytes / start.length)) + end;
const MEGABYTE = 1_000_000;

describe('reading XML', () => {
  it('keeps text unchanged, with leading zeros', () => {
    const root = read('<o><n>0060</n><e>1e3</e><t> A&amp;B&#xE4; </t><c><![CDATA[<x>]]></c></o>');

    expect(['n', 'e', 't', 'c'].map((name) => textOf(root, name))).toEqual([
      '0060',
      '1e3',
      'A&Bä',
      '<x>',
    ]);
  });

  it('reads single and repeated elements, without their namespace prefix', () => {
    const root = read('<p:o xmlns:p="urn:x"><p:a><b/></p:a><c><d/></c><c><d/></c></p:o>');

    expect(root.name).toBe('o');
    expect(['a', 'c', 'none'].map((name) => elements(root, name).length)).toEqual([1, 2, 0]);
  });

  it('reads no text of a repeated field', () => {
    expect(textOf(read('<o><n>1</n><n>2</n></o>'), 'n')).toBeUndefined();
  });

  it('gives the path of an element, with its position among siblings of its name', () => {
    const root = read('<o><a/><b><c/></b><b><c/></b></o>');
    const last = elements(elements(root, 'b')[1]!, 'c')[0]!;

    expect(pathOf(last, 'N')).toBe('/o/b[2]/c/N');
  });

  it('accepts names with a meaning in JavaScript', () => {
    const root = read('<o><__proto__><a>1</a></__proto__><constructor a="b" __proto__="x"/></o>');

    expect(textOf(elements(root, '__proto__')[0]!, 'a')).toBe('1');
    expect(elements(root, 'constructor')).toHaveLength(1);
    expect(elements(root, 'toString')).toEqual([]);
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });

  it('reads a document type that is only quoted in text', () => {
    const root = read('<o><!-- <!DOCTYPE x> --><n><![CDATA[<!DOCTYPE y><!ENTITY z "">]]></n></o>');

    expect(textOf(root, 'n')).toBe('<!DOCTYPE y><!ENTITY z "">');
  });
});

describe('encodings of XML', () => {
  const latin1 = (declaration = ''): Buffer => Buffer.from(`${declaration}<o>ä</o>`, 'latin1');

  it('are taken from the content type where the document declares none', () => {
    expect(readXml(latin1(), 'iso-8859-1')).toMatchObject({ ok: true, value: { text: 'ä' } });
    expect(readXml(latin1())).toMatchObject({ ok: false });
    const declared = latin1('<?xml version="1.0" encoding="ISO-8859-1"?>');
    expect(readXml(declared, 'utf-8')).toMatchObject({ ok: true, value: { text: 'ä' } });
    for (const charset of ['ebcdic-cp-us', 'utf-16', 'utf-16le']) {
      expect(readXml(Buffer.from('<o>ä</o>'), charset)).toMatchObject({ value: { text: 'ä' } });
    }
  });

  const declared = (encoding: string): string =>
    `<?xml version="1.0" encoding="${encoding}"?><o><n>ä€</n></o>`;
  const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
  const bytes = (text: string, euro: number): Buffer =>
    Buffer.from(Array.from(text, (char) => (char === '€' ? euro : char.charCodeAt(0))));

  it.each([
    ['UTF-8', Buffer.from(declared('UTF-8'))],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${declared('utf-8')}`)],
    ['UTF-8 with a mark that declares another', Buffer.from(`\ufeff${declared('iso-8859-1')}`)],
    ['UTF-8 that declares the UTF-16 it was made from', Buffer.from(declared('utf-16'))],
    ['UTF-16 LE with a mark', Buffer.from(`\ufeff${declared('utf-16')}`, 'utf16le')],
    ['UTF-16 LE without a mark', Buffer.from(declared('utf-16'), 'utf16le')],
    ['UTF-16 BE with a mark', utf16be(`\ufeff${declared('utf-16')}`)],
    ['UTF-16 BE without a mark', utf16be(declared('utf-16'))],
    ['windows-1252', bytes(declared('Windows-1252'), 0x80)],
    ['ISO 8859-15', bytes(declared('ISO-8859-15'), 0xa4)],
  ])('are recognised by mark and declaration: %s', (_name, body) => {
    expect(textOf(read(body), 'n')).toBe('ä€');
  });

  it('include Latin 1', () => {
    const body = Buffer.from(declared('ISO-8859-1').replace('€', ''), 'latin1');

    expect(textOf(read(body), 'n')).toBe('ä');
  });

  it.each([
    ['one that is not read', declared('EBCDIC-CP-US'), 'encoding that is not read: ebcdic-cp-us'],
    ['bytes that are not what they claim', Buffer.from([0x3c, 0x6f, 0xff]), 'not valid utf-8'],
    ['half a pair in UTF-16', Buffer.from('\ufeff<o>\ud800</o>', 'utf16le'), 'not valid utf-16le'],
    ['UTF-16 cut in a character', Buffer.from('\ufeff<o/>', 'utf16le').subarray(0, 9), 'utf-16le'],
    [
      'two in one document',
      Buffer.concat([Buffer.from('<o>'), Buffer.from('ä', 'latin1')]),
      'utf-8',
    ],
  ])('are refused: %s', (_name, body, complaint) => {
    expect(() => read(body)).toThrow(new RegExp(`^invalid-message: .*${complaint}`));
  });
});

describe('hostile XML', () => {
  const laughs = Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "&l${i};&l${i};">`).join(
    '',
  );

  it.each([
    ['a billion laughs', `<!DOCTYPE o [<!ENTITY l0 "ha">${laughs}]><o>&l9;</o>`, 'document type'],
    ['a file', '<!DOCTYPE o [<!ENTITY f SYSTEM "file:///etc/passwd">]><o>&f;</o>', 'document type'],
    [
      'a parameter entity',
      '<!DOCTYPE o [<!ENTITY % p SYSTEM "http://x/">%p;]><o/>',
      'document type',
    ],
    ['an external subset', '<!DOCTYPE o SYSTEM "http://localhost/o.dtd"><o/>', 'document type'],
    ['an entity of nobody', '<o>&secret;</o>', 'well-formed'],
    ['a missing end tag', '<o><a></o>', 'well-formed at line 1, column'],
    ['a document cut off', '<o><a>1</a>\n<b>2', 'well-formed at line 2'],
    ['two roots', '<o/><o/>', 'well-formed'],
    ['text after the root', '<o/>x', 'well-formed'],
    ['nothing', '', 'well-formed'],
    ['a NUL', '<o>\u0000</o>', 'well-formed'],
    ['a NUL by its number', '<o>&#0;</o>', 'well-formed'],
    ['half a pair by its number', '<o>&#xD800;</o>', 'well-formed'],
    [
      '65 levels',
      '<a>'.repeat(65) + '</a>'.repeat(65),
      'more than 64 levels at line 1, column 195',
    ],
  ])('is refused: %s', (_name, body, complaint) => {
    expect(() => read(body)).toThrow(new RegExp(`^invalid-message: .*${complaint}`));
  });

  it('is refused without being quoted', () => {
    const xml = readXml(Buffer.from('<o><hunter2></o>'));

    expect(JSON.stringify(xml)).not.toContain('hunter2');
  });

  it('is refused above the maximum size, and above the maximum number of elements', () => {
    expect(() => read(Buffer.alloc(MAX_BODY_BYTES + 1, '<'))).toThrow('too-large');
    expect(() => read(`<o>${'<a/>'.repeat(100_000)}</o>`)).toThrow('too-large');
  });

  it.each([
    ['brackets', fill('<', MEGABYTE)],
    ['tags', fill('<a>', MEGABYTE)],
    ['attributes', `<a ${fill('b="1" ', MEGABYTE)}`],
    ['ampersands', `<a>${fill('&', MEGABYTE, '</a>')}`],
    ['an open quote', `<a b="${fill('/', MEGABYTE)}`],
    ['comments', fill('<!--', MEGABYTE)],
    ['instructions', fill('<?', MEGABYTE)],
    ['a name', `<${fill('a', MEGABYTE)}`],
  ])('is given up on, a megabyte of %s', (_name, body) => {
    expect(() => read(body)).toThrow('invalid-message');
  });

  it.each([
    ['one attribute', `<a b="${fill('x', MEGABYTE)}"/>`],
    ['attributes', `<a ${Array.from({ length: 90_000 }, (_, i) => `b${i}=""`).join(' ')}/>`],
    ['references', `<a>${fill('&lt;', MEGABYTE)}</a>`],
    ['white space', `<a>${fill(' \n', MEGABYTE)}</a>`],
  ])('is borne, a megabyte of %s', (_name, body) => {
    expect(read(body).name).toBe('a');
  });

  it('never throws for any bytes', () => {
    const markup = fc.string({
      unit: fc.constantFrom('<', '>', '/', 'a', '"', '!', '-', '?', '[', '&', '\u0000', ' ', '='),
    });
    fc.assert(
      fc.property(markup, (text) => expect(() => readXml(Buffer.from(text))).not.toThrow()),
      { numRuns: 1000 },
    );
  });
});
