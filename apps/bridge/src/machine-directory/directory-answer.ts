import { type HttpAnswer, describeUnauthorised } from '#libs/cloud-client';
import type { Rejection } from '#libs/contracts';

/** `unverifiable`: the token may not read the list, or the answer is malformed; the service decides at the call. */
export type DirectoryAnswer = 'known' | 'unknown' | LookUpFailure;

export type LookUpFailure = 'unverifiable' | Unavailable;

/** The service does not answer at present. `afterMs` is its `Retry-After` in real time; null without one. */
interface Unavailable {
  kind: 'unavailable';
  why: string;
  afterMs: number | null;
}

export type MachineAdmission =
  { kind: 'go' } | { kind: 'rejected'; rejection: Rejection } | Unavailable;

/** An answer of the service without a result: neither data nor `noData`. */
export type FailedAnswer = Exclude<HttpAnswer<unknown>, { kind: 'data' | 'noData' }>;

/** One sentence for operators on why an answer holds no data. */
export function describeFailure(answer: FailedAnswer): string {
  switch (answer.kind) {
    case 'rejected':
      return `refused with status ${answer.status}: ${answer.detail}`;
    case 'retry':
      return answer.error.message;
    case 'unauthorised':
      return describeUnauthorised(answer);
    default:
      return answer satisfies never;
  }
}

/** Statuses of a path that does not serve the request: they will not change soon. */
const NOT_SERVED: readonly (number | undefined)[] = [405, 410, 414, 431];

export function isFailure(answer: HttpAnswer<unknown>): answer is FailedAnswer {
  return answer.kind !== 'data' && answer.kind !== 'noData';
}

/** Result of a failed look-up for its callers. */
export function lookUpFailure(answer: FailedAnswer): LookUpFailure {
  switch (answer.kind) {
    case 'rejected':
    case 'unauthorised':
      return 'unverifiable';
    case 'retry': {
      const { afterMs, error } = answer;
      // A malformed answer will not become readable soon: no command should wait for that.
      if (error.code === 'malformed-answer' || NOT_SERVED.includes(error.status))
        return 'unverifiable';
      return { kind: 'unavailable', why: error.message, afterMs };
    }
    default:
      return answer satisfies never;
  }
}
