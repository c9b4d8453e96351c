import { languageOf, refusalText, STRINGS } from './strings.js';

/** The dead letter codes of the bridge, see docs/asyncapi.yaml. */
const CODES = [
  'invalid-json',
  'invalid-message',
  'unknown-machine',
  'unknown-reason',
  'missing-times',
].concat([
  'start-after-end',
  'start-in-future',
  'too-large',
  'unmapped-work-centre',
  'rejected-by-service',
]);

describe('the words of the page', () => {
  it.each(['en', 'de'] as const)(
    'say in %s what to do about every code of the bridge',
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

  it('are in the language that was chosen, else in the first the browser prefers', () => {
    expect(languageOf('de', ['en-GB'])).toBe('de');
    expect(languageOf(null, ['pl', 'de-AT', 'en'])).toBe('de');
    expect(languageOf(null, ['pl'])).toBe('en');
  });
});
