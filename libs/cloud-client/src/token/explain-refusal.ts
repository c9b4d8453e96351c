import { type CloudAnswer } from '../cloud-answer.js';
import { type TokenOperation } from '../exchange.js';
import { type NoToken } from './token-source.js';

type Failure = Exclude<CloudAnswer<never>, { kind: 'data' }>;

/** What it means for the calls that no token was handed out. */
export function explainRefusal(operation: TokenOperation, answer: Failure): NoToken {
  switch (answer.kind) {
    case 'unauthorised':
      return refused(operation, `HTTP ${answer.status}`);
    case 'rejected':
      // RFC 6749 answers wrong credentials with 400, some logins do too
      if (answer.status === 400) return refused(operation, answer.detail);
      return { kind: 'unavailable', why: `${operation}: ${answer.detail}`, afterMs: null };
    case 'retry':
      return { kind: 'unavailable', why: answer.error.message, afterMs: answer.afterMs };
    case 'noData':
      return { kind: 'unavailable', why: `${operation}: an empty answer`, afterMs: null };
    default:
      return answer satisfies never;
  }
}

function refused(operation: TokenOperation, detail: string): NoToken {
  return { kind: 'refused', why: `${operation}: the credentials are not accepted (${detail})` };
}
