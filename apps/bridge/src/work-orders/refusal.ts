import { type CommandResult, rejection } from '../command-delivery/index.js';

/** Why a message cannot be taken in, today or any other day. */
export interface Refusal {
  /** What follows from it alone is more than Kafka takes; or a bug of ours does not let it be derived or written. */
  why: 'too-large' | 'defect';
  error: unknown;
}

/** @param what that is to be written, as in "<what> is larger than its topic takes" */
export function refusalResult(
  { why }: Refusal,
  what: string,
  machineId: string | null = null,
): CommandResult {
  switch (why) {
    case 'too-large':
      return rejection({ code: why, detail: `${what} is larger than its topic takes` }, machineId);
    case 'defect':
      return rejection(
        {
          code: 'invalid-message',
          detail: 'the bridge could not handle this message; its log says why',
        },
        machineId,
      );
    default:
      return why satisfies never;
  }
}
