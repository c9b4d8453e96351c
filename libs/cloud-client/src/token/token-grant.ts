import { type CloudAnswer } from '../cloud-answer.js';
import { type FieldReader } from '../field-reader.js';
import { bodyRead, parseHttpDate, type SuccessMeaning } from '../to-answer.js';
import { whyUnsendable } from './sendable-token.js';
import { jwtLifeMs } from './token-life.js';

/** A token as it was handed out; `lifeMs` is counted from then on, null when nothing tells. */
export interface TokenGrant {
  token: string;
  lifeMs: number | null;
}

type ParseGrant = (answer: FieldReader) => TokenGrant;

/**
 * Reads a successful answer; where the token is a JWT its own expiry counts too.
 *
 * @param nowMs real epoch milliseconds, for an answer without `Date`
 */
export function grantRead(parse: ParseGrant, nowMs: () => number): SuccessMeaning<TokenGrant> {
  const read = bodyRead(parse);
  return (operation, reply): CloudAnswer<TokenGrant> => {
    const answer = read(operation, reply);
    if (answer.kind !== 'data') return answer;
    const { token, lifeMs } = answer.data;
    const issuedMs = parseHttpDate(reply.headers.date ?? '') ?? nowMs();
    const lives = [lifeMs, jwtLifeMs(token, issuedMs)].filter((life) => life !== null);
    return { kind: 'data', data: { token, lifeMs: lives.length > 0 ? Math.min(...lives) : null } };
  };
}

/** @throws MalformedField, which repeats no value */
export function readToken(field: FieldReader): string {
  const { value } = field;
  if (typeof value !== 'string' || value === '') return field.fail('a non-empty string');
  return whyUnsendable(value) === undefined ? value : field.fail('what a header can carry');
}
