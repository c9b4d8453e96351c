/**
 * Whether a regular expression is free of what makes matching explode: a group that may repeat without end
 * and whose content can match one text in several ways, such as `(a+)+` or `(a|aa)*`. No time limit reaches
 * into a match. Errs on the side of refusing.
 */
export function isLinearPattern(source: string): boolean {
  /** One entry for each open group: whether its content is of varying length or has a choice. */
  const varying: boolean[] = [false];
  for (let at = 0; at < source.length; at += 1) {
    const char = source.charAt(at);
    if (char === '\\') at += 1;
    else if (char === '[') at = endOfClass(source, at);
    else if (char === '(') varying.push(false);
    else if (char === ')') {
      const inner = varying.pop() ?? false;
      if (inner && REPEATS.test(source.slice(at + 1))) return false;
      mark(varying, inner);
    } else if (char === '|' || isQuantifier(source, at)) mark(varying, true);
  }
  return true;
}

const REPEATS = /^(?:[*+]|\{\d+,\d*\})/;
const EXACT = /^\{\d+\}/;

function isQuantifier(source: string, at: number): boolean {
  const char = source.charAt(at);
  // a question mark behind a bracket is the head of a group such as (?:
  if (char === '?') return source.charAt(at - 1) !== '(';
  if (char === '{') return !EXACT.test(source.slice(at));
  return char === '*' || char === '+';
}

function mark(varying: boolean[], isVarying: boolean): void {
  const top = varying.length - 1;
  varying[top] = varying[top] === true || isVarying;
}

function endOfClass(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at += 1) {
    const char = source.charAt(at);
    if (char === '\\') at += 1;
    else if (char === ']') return at;
  }
  return source.length;
}
