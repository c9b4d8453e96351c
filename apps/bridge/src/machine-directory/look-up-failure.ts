import { type CloudAnswer } from '#libs/cloud-client';
import { type LookUpFailure } from './directory-status.js';

/** Why an answer tells nothing of what there is; undefined when it does. */
export function lookUpFailure(answer: CloudAnswer<unknown>): LookUpFailure | undefined {
  switch (answer.kind) {
    case 'data':
    case 'noData':
      return undefined;
    case 'rejected':
    case 'unauthorised':
      return 'unverifiable';
    case 'retry':
      // An answer that cannot be read will not be readable in a moment: nobody should wait for that.
      return answer.error.code === 'malformed-answer' ? 'unverifiable' : 'unavailable';
    default:
      return answer satisfies never;
  }
}
