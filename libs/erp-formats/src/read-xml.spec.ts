import fc from 'fast-check';

import { MAX_BODY_BYTES } from '#libs/contracts';

import { elements, readXml, textOf, type XmlDocument } from './read-xml.js';

function read(body: Buffer | string): XmlDocument {
  const xml = readXml(Buffer.from(body));
  if (!xml.ok) throw new Error(`${xml.rejection.code}: ${xml.rejection.detail}`);
  return xml.value;
}

describe('reading XML', () => {
  it('keeps text as it is written, leading zeros and all', () => {
    const { root } = read('<o><n>0060</n><e>1e3</e><t> A&amp;B </t><c><![CDATA[<x>]]></c></o>');

    expect(['n', 'e', 't', 'c'].map((name) => textOf(root, name))).toEqual([
      '0060',
      '1e3',
      'A&B',
      '<x>',
    ]);
  });

  it('reads one element and several alike, without their namespace', () => {
    const { root } = read('<p:o xmlns:p="urn:x"><p:a><b/></p:a><c><d/></c><c><d/></c></p:o>');

    expect(['a', 'c', 'none'].map((name) => elements(root, name).length)).toEqual([1, 2, 0]);
  });

  it.each([
    ['UTF-8 with a mark', Buffer.from('\ufeff<?xml version="1.0"?><o><n>ä</n></o>')],
    [
      'UTF-16',
      Buffer.from('\ufeff<?xml version="1.0" encoding="utf-16"?><o><n>ä</n></o>', 'utf16le'),
    ],
    [
      'Latin 1',
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><o><n>ä</n></o>', 'latin1'),
    ],
  ])('decodes %s', (_name, body) => {
    expect(textOf(read(body).root, 'n')).toBe('ä');
  });

  it.each([
    ['another encoding', '<?xml version="1.0" encoding="EBCDIC-CP-US"?><o/>', 'encoding'],
    ['bytes that are not UTF-8', Buffer.from([0x3c, 0x6f, 0xff, 0x2f, 0x3e]), 'not valid utf-8'],
    ['a document type', '<!doctype o><o/>', 'document type'],
    ['a missing end tag', '<o><a></o>', 'well-formed'],
    ['crossed tags', '<o><a><b></a></b></o>', 'well-formed'],
    ['a document cut off', '<o><a>1</a><b>2', 'well-formed'],
    ['two roots', '<o/><o/>', 'well-formed'],
    ['text after the root', '<o/>x', 'well-formed'],
    ['text alone', 'x', 'well-formed'],
    ['nothing', '', 'well-formed'],
    ['an attribute that never ends', `<o a="${'x'.repeat(1000)}>`, 'well-formed'],
    ['65 levels', '<a>'.repeat(65) + '</a>'.repeat(65), 'well-formed'],
    ['a name out of the language', '<o><__proto__><a>1</a></__proto__></o>', 'well-formed'],
  ])('refuses %s', (_name, body, complaint) => {
    expect(() => read(body)).toThrow(new RegExp(`^invalid-message: .*${complaint}`));
  });

  it('refuses a document above the largest size', () => {
    expect(() => read(Buffer.alloc(MAX_BODY_BYTES + 1, '<'))).toThrow('too-large');
  });

  it.each([
    ['brackets', '<'.repeat(1_000_000)],
    ['tags', '<a>'.repeat(300_000)],
    ['attributes', `<a ${'b="1" '.repeat(160_000)}`],
    ['an open quote', `<a b="${'/'.repeat(1_000_000)}`],
    ['comments', '<!--'.repeat(250_000)],
  ])('gives up on a megabyte of %s', (_name, body) => {
    expect(() => read(body)).toThrow('invalid-message');
  });

  it('never throws, whatever the bytes', () => {
    const markup = fc.string({
      unit: fc.constantFrom('<', '>', '/', 'a', '"', '!', '-', '?', '[', '&'),
    });
    fc.assert(
      fc.property(markup, (text) => {
        expect(() => readXml(Buffer.from(text))).not.toThrow();
      }),
      { numRuns: 1000 },
    );
  });
});
