import { type CloudAnswer } from '#libs/cloud-client';

/** An answer that says neither what there is nor that there is nothing. */
export type Failure = Exclude<CloudAnswer<unknown>, { kind: 'data' | 'noData' }>;

/** One sentence for operators on why an answer holds no data. */
export function describeFailure(answer: Failure): string {
  switch (answer.kind) {
    case 'rejected':
      return `refused with status ${answer.status}: ${answer.detail}`;
    case 'retry':
      return answer.error.message;
    case 'unauthorised':
      return `the token may not read it (status ${answer.status})`;
    default:
      return answer satisfies never;
  }
}
