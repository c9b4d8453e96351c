import { type TopicSpan } from '#libs/kafka';
import { LETTER_LINE_HEADING, letterJson, letterLine } from './letter-line.js';
import { lengthOf } from './letter-selection.js';
import { type StoredLetter } from './stored-letter.js';

/** How letters are shown, a line each. */
export interface LineForm {
  line: (letter: StoredLetter) => string;
  /** Undefined where a program reads the lines: it wants nothing but letters. */
  heading?: string;
}

/**
 * @param spans the letters lie in
 * @param namesTopics letters may be of any topic: each line begins with its own
 */
export function lineForm(
  spans: readonly TopicSpan[],
  { json, namesTopics }: { json: boolean; namesTopics: boolean },
): LineForm {
  if (json) return { line: letterJson };
  if (!namesTopics) return { line: letterLine, heading: LETTER_LINE_HEADING };
  const lengths = spans.filter((span) => lengthOf([span]) > 0).map(({ topic }) => topic.length);
  const width = Math.max('topic'.length, ...lengths);
  return {
    line: (letter) => `${letter.record.topic.padEnd(width)}  ${letterLine(letter)}`,
    heading: `${'topic'.padEnd(width)}  ${LETTER_LINE_HEADING}`,
  };
}
