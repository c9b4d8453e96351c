import { type EnvironmentReader } from './environment-reader.js';

/** Of a token that is sent as it is: RFC 6750 allows fewer still. */
const WITHOUT_BLANKS = /^[\x21-\x7e]*$/;
/** Of one that is compared with what comes in a header. */
const WITH_BLANKS = /^[\x20-\x7e]*$/;

/** A token that is to go out as Bearer: else each call would fail, with the token in the library's message. */
export function checkSendable(env: EnvironmentReader, name: string, token: string): void {
  if (WITHOUT_BLANKS.test(token)) return;
  env.problem(
    name,
    'holds a line break, a blank or another character that no token in a header can have',
  );
}

/** A token that others are to send: else nobody could. */
export function checkReceivable(env: EnvironmentReader, name: string, token: string): void {
  if (WITH_BLANKS.test(token)) return;
  env.problem(name, 'holds a line break or another character that no header can carry');
}
