import { realEpochMs } from '#libs/clock';
import { AT_REST } from './commit-note.js';
import { type Inherited } from './owned-queue.js';
import { type LastCommit } from './recall-commits.js';

/** A partition that has come to this process, and what its last owner has left of it. */
export interface TakenOver extends Inherited {
  /** Full name, prefix included. */
  topic: string;
  partition: number;
  isFinished: (offset: number) => boolean;
}

/** Nothing was committed yet: its first owners, if there were any, have not been there for longer. */
const BEFORE_FIRST_COMMIT_MS = 600_000;

export function takenOver(topic: string, partition: number, last: LastCommit): TakenOver {
  const { offset: committed, finished, end } = last;
  return {
    topic,
    partition,
    finished,
    end,
    toldUntilMs: sinceWhen(last),
    isFinished: (offset) => offset < committed || finished?.includes(offset) === true,
  };
}

function sinceWhen({ offset: committed, end, toldUntil }: LastCommit): number | undefined {
  // Nothing is delivered again of what is all committed.
  if (Math.max(committed, 0) >= end) return undefined;
  if (committed < 0) return realEpochMs() - BEFORE_FIRST_COMMIT_MS;
  return toldUntil === AT_REST ? undefined : toldUntil;
}
