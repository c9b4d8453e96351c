import { visible, visibleJson, visibleLines } from './output.js';

describe('the text of a message', () => {
  it.each([
    ['what clears the screen', '\u001b[2J', '\\u001b[2J'],
    ['a control character of the upper half', '\u009b1A', '\\u009b1A'],
    ['what goes back to the begin of the line', 'a\rb', 'a\\u000db'],
    ['what turns text around', '\u202egpj', '\\u202egpj'],
    ['what hides beyond the first plane', '\u{e0041}', '\\udb40\\udc41'],
    ['half a character', '\ud83d', '\\ud83d'],
    ['letters of all kinds', 'Fräse 1 · 铣床 😀', 'Fräse 1 · 铣床 😀'],
  ])('shows %s', (_, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it('keeps lines and tabs where several lines are allowed', () => {
    expect(visibleLines('a\tb\r\nc\u0007\n')).toEqual(['a\tb', 'c\\u0007', '']);
  });

  it('is equivalent JSON', () => {
    const value = { text: '\u001b\u009b\u202e\u2028 "\\' };
    expect(visibleJson(value)).toMatch(/^[ -~]*$/);
    expect(JSON.parse(visibleJson(value))).toEqual(value);
  });
});
