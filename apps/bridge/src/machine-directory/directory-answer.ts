import { type HttpAnswer, describeUnauthorised } from '#libs/cloud-client';
import type { Rejection } from '#libs/contracts';

/** `unverifiable`: the token may not ask, or the answer makes no sense; the service decides when it is called. */
export type DirectoryAnswer = 'known' | 'unknown' | LookUpFailure;

export type LookUpFailure = 'unverifiable' | Unavailable;

/** The service cannot be asked just now. `afterMs`, real time, is what it asks to wait; null where nothing. */
interface Unavailable {
  kind: 'unavailable';
  why: string;
  afterMs: number | null;
}

export type MachineAdmission =
  { kind: 'go' } | { kind: 'rejected'; rejection: Rejection } | Unavailable;

/** An answer of the service that holds no result: neither data nor `noData`. */
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

/** Statuses of a path that does not serve the question: they do not pass in a moment. */
const NOT_SERVED: readonly (number | undefined)[] = [405, 410, 414, 431];

export function isFailure(answer: HttpAnswer<unknown>): answer is FailedAnswer {
  return answer.kind !== 'data' && answer.kind !== 'noData';
}

/** The answer to those who wait for a look-up that failed. */
export function lookUpFailure(answer: FailedAnswer): LookUpFailure {
  switch (answer.kind) {
    case 'rejected':
    case 'unauthorised':
      return 'unverifiable';
    case 'retry': {
      const { afterMs, error } = answer;
      // An answer that cannot be read will not be readable in a moment: nobody should wait for that.
      if (error.code === 'malformed-answer' || NOT_SERVED.includes(error.status))
        return 'unverifiable';
      return { kind: 'unavailable', why: error.message, afterMs };
    }
    default:
      return answer satisfies never;
  }
}
