import { backOffMs, type BackOffOptions } from './back-off.js';

/** An answer of the service to a command, by what it means for the caller, see docs/operations.md. */
export type ServiceAnswer =
  | { kind: 'data' }
  | { kind: 'noData' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'retry'; afterMs: number | null; error: Error }
  | { kind: 'unauthorised'; status: 401 | 403 };

/** What follows from an answer. */
export type Verdict =
  | { kind: 'applied' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'try-again'; waitMs: number; retryAfterMs: number; why: string; cause: RetryCause };

/**
 * `forbidden` may be the token's fault or that of one machine: the calls of others meanwhile show it. So they do for
 * `unlisted-status`, a refusal that the interface does not list, which may be the message's fault or that of the way.
 */
export type RetryCause = 'service' | 'token-refused' | 'forbidden' | 'unlisted-status';

export const RETRY_BACK_OFF: BackOffOptions = { baseMs: 200, capMs: 10_000 };

/** `attempt` counts from 1; `Retry-After` is the floor of the wait, never shortened by jitter. */
export function classifyAnswer(
  answer: ServiceAnswer,
  attempt: number,
  random: () => number = Math.random,
): Verdict {
  const waitMs = backOffMs(attempt, RETRY_BACK_OFF, random);
  switch (answer.kind) {
    case 'data':
    case 'noData':
      return { kind: 'applied' };
    case 'rejected':
      return answer;
    case 'retry':
      return {
        kind: 'try-again',
        waitMs: Math.max(waitMs, answer.afterMs ?? 0),
        retryAfterMs: answer.afterMs ?? 0,
        why: answer.error.message,
        cause: 'service',
      };
    case 'unauthorised':
      return {
        kind: 'try-again',
        waitMs,
        retryAfterMs: 0,
        why: `the service answers ${answer.status}: the token is not accepted`,
        cause: answer.status === 403 ? 'forbidden' : 'token-refused',
      };
    default:
      return answer satisfies never;
  }
}
