import { realEpochMs } from '#libs/clock';
import { type FinishedAhead } from '#libs/delivery';
import { AT_REST, type CommitNote } from './commit-note.js';

/** What was committed of a partition last. */
interface LastCommit extends CommitNote {
  /** Below zero when nothing was. */
  offset: number;
  /** The oldest offset that is left of the partition. */
  start: number;
  /** The end of the partition now. */
  end: number;
}

/** A partition that has come to this process, and what its last owner has left of it. */
export interface TakenOver {
  /** Full name, prefix included. */
  topic: string;
  partition: number;
  /** Where the first fetch begins. */
  begin: number;
  /** The end of the partition when it came. */
  end: number;
  /** Ahead of what is committed. */
  finished: FinishedAhead | undefined;
  isFinished: (offset: number) => boolean;
  /** Epoch milliseconds since when something may have been told that no commit has in it; undefined when nothing was. */
  toldUntilMs: number | undefined;
}

/** Nothing was committed yet: its first owners, if there were any, have not been there for longer. */
const BEFORE_FIRST_COMMIT_MS = 600_000;

export function takenOver(topic: string, partition: number, last: LastCommit): TakenOver {
  const { offset: committed, finished, end } = last;
  return {
    topic,
    partition,
    finished,
    begin: Math.max(committed, last.start),
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
