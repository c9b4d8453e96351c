import { LETTER_LINE_HEADING, letterJson, letterLine } from './letter-line.js';
import { lineForm } from './line-form.js';
import { letter, TOPIC } from './testing/letter.js';

const span = (topic: string, until: number) => ({ topic, partition: 0, from: 0, until });
const spans = [span(TOPIC, 1), span('p1.short', 1), span(`${TOPIC}.which-holds-nothing`, 0)];

describe('lineForm', () => {
  it('begins the lines of several topics with the topic, as wide as those that hold letters', () => {
    const { line, heading } = lineForm(spans, { json: false, namesTopics: true });
    const short = letter({ topic: 'p1.short' });
    expect(heading).toBe(`${'topic'.padEnd(TOPIC.length)}  ${LETTER_LINE_HEADING}`);
    expect(line(letter())).toBe(`${TOPIC}  ${letterLine(letter())}`);
    expect(line(short)).toBe(`${'p1.short'.padEnd(TOPIC.length)}  ${letterLine(short)}`);
  });

  it('does without where one topic was asked for', () => {
    const { line, heading } = lineForm(spans, { json: false, namesTopics: false });
    expect([heading, line(letter())]).toEqual([LETTER_LINE_HEADING, letterLine(letter())]);
  });

  it.each([true, false])('has letters alone for a program', (namesTopics) => {
    const { line, heading } = lineForm(spans, { json: true, namesTopics });
    expect([heading, line(letter())]).toEqual([undefined, letterJson(letter())]);
  });
});
