import { type CloudAnswer } from '#libs/cloud-client';
import { type Failure } from './describe-failure.js';
import { type LookUpFailure } from './directory-status.js';

/** What is asked for is not served there in this way, which will not pass in a moment either. */
const NOT_SERVED: readonly (number | undefined)[] = [405, 410, 414, 431];

/** Whether an answer tells nothing of what there is. */
export function isFailure(answer: CloudAnswer<unknown>): answer is Failure {
  return answer.kind !== 'data' && answer.kind !== 'noData';
}

/** What follows, for those who wait for it, from an answer that tells nothing of what there is. */
export function lookUpFailure(answer: Failure): LookUpFailure {
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
