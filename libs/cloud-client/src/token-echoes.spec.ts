import fc from 'fast-check';
import { describeRejection } from './rejection-detail.js';
import { TokenEchoes } from './token-echoes.js';

/** The characters that RFC 6750 gives to tokens. */
const BEARER = Array.from('ABCXYZabcxyz0123456789-._~+/=');
const VISIBLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
const NAMES: Record<string, string> = { '&': 'amp', '+': 'plus', '/': 'sol', '=': 'equals' };

const hexOf = (character: string): string => character.charCodeAt(0).toString(16);

/** All that a service may make of one character. */
function encodingsOf(character: string): string[] {
  const hex = hexOf(character);
  const name = NAMES[character];
  return [
    character,
    `\\u00${hex}`,
    `\\u00${hex.toUpperCase()}`,
    `%${hex}`,
    `%${hex.toUpperCase()}`,
    `%25${hex}`,
    `&#${character.charCodeAt(0)};`,
    `&#0${character.charCodeAt(0)};`,
    `&#x${hex};`,
    `&#X${hex.toUpperCase()};`,
    `\\u0026#${character.charCodeAt(0)};`,
    ...(name === undefined ? [] : [`&${name};`, `&amp;${name};`]),
    ...(character === '/' ? ['\\/', '\\\\/'] : []),
  ];
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/');
const inHtml = (text: string): string =>
  text.replace(/[&<>"'+]/g, (character) => `&#x${hexOf(character)};`);

/** What a service may make of a whole text. */
const WHOLE: [string, (text: string) => string][] = [
  ['as it is', (text) => text],
  ['in JSON', inJson],
  ['in JSON within JSON', (text) => inJson(inJson(text))],
  ['in HTML within JSON', (text) => inJson(inHtml(text))],
  ['in HTML', inHtml],
  ['in a URL', encodeURIComponent],
  ['in a URL within a URL', (text) => encodeURIComponent(encodeURIComponent(text))],
];

const bearerToken = fc.string({
  unit: fc.constantFrom(...BEARER),
  minLength: 8,
  maxLength: 80,
});
const anyToken = fc.string({ unit: fc.constantFrom(...VISIBLE), minLength: 8, maxLength: 40 });

describe('the echo of a token', () => {
  it('is blackened with each of its characters encoded in any way, and nothing else is', () => {
    const echoed = bearerToken.chain((token) =>
      fc.record({
        token: fc.constant(token),
        echo: fc
          .tuple(...Array.from(token, (character) => fc.constantFrom(...encodingsOf(character))))
          .map((parts) => parts.join('')),
      }),
    );
    fc.assert(
      fc.property(echoed, ({ token, echo }) => {
        const text = (part: string): string =>
          `{"message":"bad: Bearer ${part}, 100%","n":"\\u00fc"}`;
        expect(new TokenEchoes(token).blacken(text(echo))).toBe(text('***'));
      }),
    );
  });

  it.each(WHOLE)('is blackened %s', (_, encode) => {
    fc.assert(
      fc.property(anyToken, (token) => {
        expect(new TokenEchoes(token).blacken(`> ${encode(token)} <`)).toBe('> *** <');
      }),
    );
  });

  it('is blackened in Base64, whatever stands before and behind it', () => {
    const part = fc.string({ unit: fc.constantFrom(...VISIBLE), maxLength: 5 });
    const alphabet = fc.constantFrom('base64' as const, 'base64url' as const);
    const escape = fc.constantFrom((text: string) => text, inJson, encodeURIComponent, inHtml);
    fc.assert(
      fc.property(
        bearerToken,
        part,
        part,
        alphabet,
        escape,
        (token, before, behind, base, encode) => {
          const echo = encode(Buffer.from(before + token + behind).toString(base));
          const blackened = new TokenEchoes(token).blacken(echo);
          expect(blackened).toContain('***');
          // All but what a neighbour has a part in: a character at each end, and the padding.
          const most = echo.length - Math.floor((token.length * 4) / 3) + 1 + '***'.length;
          expect(blackened.length).toBeLessThanOrEqual(most);
        },
      ),
    );
  });

  it('leaves next to nothing of itself where a detail is cut', () => {
    fc.assert(
      fc.property(
        bearerToken,
        fc.constantFrom(...WHOLE),
        fc.integer({ min: 200, max: 300 }),
        (token, [, encode], length) => {
          const body = new TokenEchoes(token).blacken(`${'.'.repeat(length)}<${encode(token)}>`);
          const detail = describeRejection(422, body).replace(/^HTTP 422: \.+/, '');
          expect(['<***>', '<***…', '<**…', '<*…', '<…', '…']).toContain(detail);
        },
      ),
    );
  });

  it('is not looked for in what is too long to be a sentence, of which nothing is kept', () => {
    expect(new TokenEchoes('a-token').blacken('x'.repeat(300_000))).toBe('');
  });

  it('is looked for where nothing can be decoded, too', () => {
    const text = '100% &c. \\ &unknown; \\u00ff %zz a-token &#300;';
    expect(new TokenEchoes('a-token').blacken(text)).toBe(text.replace('a-token', '***'));
  });
});
