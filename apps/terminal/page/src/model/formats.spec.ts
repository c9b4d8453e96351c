import { createFormats } from './formats.js';
import { languageOf, refusalText, STRINGS } from './strings.js';

/** Monday, 23 November 2026, 13:07:00 UTC */
const AT = 1_795_439_220;

describe('times', () => {
  it('are those of the plant, wherever the screen is', () => {
    expect(createFormats('en', 'Europe/Berlin').time(AT)).toBe('14:07');
    expect(createFormats('de', 'America/Chicago').time(AT)).toBe('07:07');
  });

  it('name any day but the present one in the plant', () => {
    const { timeOn } = createFormats('en', 'Europe/Berlin');
    expect(timeOn(AT, AT + 3600)).toBe('14:07');
    expect(timeOn(AT, AT + 12 * 3600)).toBe('Mon 14:07');
    expect(createFormats('de', 'Europe/Berlin').timeOn(AT, AT + 12 * 3600)).toBe('Mo 14:07');
  });

  it('name the date in another week, whose days have the same names', () => {
    const { timeOn } = createFormats('en', 'Europe/Berlin');
    expect(timeOn(AT, AT + 5 * 86_400)).toBe('Mon 14:07');
    expect(timeOn(AT, AT + 7 * 86_400)).toBe('Mon 23 Nov 14:07');
  });

  it('name the day of a range once, or twice across midnight', () => {
    const { range } = createFormats('en', 'Europe/Berlin');
    const hours = 3600;
    expect(range(AT, AT + hours, AT + 2 * hours)).toBe('14:07\u201315:07');
    expect(range(AT, AT + hours, AT + 12 * hours)).toBe('Mon 14:07\u201315:07');
    expect(range(AT, AT + 10 * hours, AT + 12 * hours)).toBe('Mon 14:07\u2013Tue 00:07');
  });

  it('name their zone in the hour that clocks repeat in autumn', () => {
    const { range, time } = createFormats('en', 'Europe/Berlin');
    const first = Date.UTC(2026, 9, 25, 0, 50) / 1000;
    expect(range(first, first + 1200, first)).toBe('02:50 CEST\u201302:10 CET');
    expect([first - 3600, first + 7200].map(time)).toEqual(['01:50', '03:50']);
    const skipped = Date.UTC(2026, 2, 29, 0, 50) / 1000;
    expect(range(skipped, skipped + 1200, skipped)).toBe('01:50\u201303:10');
  });

  it('are those of the device if the browser does not know the zone', () => {
    const device = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const { time } = createFormats('en', 'Europe/Atlantis');
    expect(time(AT)).toBe(createFormats('en', device).time(AT));
  });

  it('are whole minutes in spans', () => {
    const { span } = createFormats('en', 'UTC');
    expect([59, 60, 3599, 3840].map(span)).toEqual([
      '0\u00a0min',
      '1\u00a0min',
      '59\u00a0min',
      '1\u00a0h 04\u00a0min',
    ]);
  });
});

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
