import { languageOf, refusalText, STRINGS } from './strings.js';

/** Codes with which the bridge rejects a reason, see docs/asyncapi.yaml. */
const CODES = [
  ...['unknown-machine', 'unknown-reason', 'start-after-end', 'start-in-future'],
  ...['too-large', 'rejected-by-service'],
];

describe('the words of the page', () => {
  it.each(['en', 'de'] as const)(
    'say in %s what to do about every code of a refusal',
    (language) => {
      for (const code of CODES) {
        expect(refusalText(STRINGS[language], code)).not.toBe(STRINGS[language].refusedOtherwise);
      }
      expect(refusalText(STRINGS[language], 'a-new-code')).toBe(STRINGS[language].refusedOtherwise);
    },
  );

  it('differ between the languages wherever they are not the same word', () => {
    const same = Object.entries(STRINGS.en).filter(
      ([key, text]) =>
        typeof text === 'string' && text === STRINGS.de[key as keyof typeof STRINGS.de],
    );
    expect(same.map(([key]) => key)).toEqual(['station', 'live']);
  });

  it('count one thing as one', () => {
    expect(STRINGS.en.handOverUnsent(1)).toMatch(/^1 entry .* has /);
    expect(STRINGS.de.handOverUnsent(1)).toMatch(/^1 Eintrag .* ist /);
    expect(STRINGS.en.tilesLeftOut(1)).toMatch(/^1 more machine:/);
    expect(STRINGS.de.tilesLeftOut(1)).toMatch(/^1 weitere Maschine:/);
  });

  it('are in the language that was chosen, else in the first the browser prefers', () => {
    expect(languageOf('de', ['en-GB'])).toBe('de');
    expect(languageOf(null, ['pl', 'de-AT', 'en'])).toBe('de');
    expect(languageOf(null, ['pl'])).toBe('en');
  });
});
