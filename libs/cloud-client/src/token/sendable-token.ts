/** Anything else would fail in the HTTP library, with the token in its message. */
const SENDABLE = /^[\x21-\x7e]+$/;

const WHY =
  'it holds a line break, a blank or another character that no token in a header can have';

/** Why no header can carry this token, without repeating it; undefined when one can. */
export function whyUnsendable(token: string): string | undefined {
  if (token === '') return 'it is empty';
  return SENDABLE.test(token) ? undefined : WHY;
}
