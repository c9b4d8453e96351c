import { type ImpossibleReplay } from './plan-replay.js';

/** What a replay, or the rehearsal of one, has come to so far. */
export interface ReplayTally {
  replayed: number;
  replayedBefore: number;
  impossible: number;
}

export interface ReplayStep {
  replayed: number;
  replayedBefore: number;
  impossible: readonly ImpossibleReplay[];
}

export const NOTHING_REPLAYED: ReplayTally = { replayed: 0, replayedBefore: 0, impossible: 0 };

export function withStep(tally: ReplayTally, step: ReplayStep): ReplayTally {
  return {
    replayed: tally.replayed + step.replayed,
    replayedBefore: tally.replayedBefore + step.replayedBefore,
    impossible: tally.impossible + step.impossible.length,
  };
}

/** One line: what has been done, or would be, and what not. */
export function tallyText(tally: ReplayTally, isRehearsal: boolean): string {
  const { replayed, replayedBefore, impossible } = tally;
  const letters = `${replayed} dead letter${replayed === 1 ? '' : 's'}`;
  const parts = [`${isRehearsal ? 'would replay' : 'replayed'} ${letters}`];
  if (replayedBefore > 0) parts.push(`${replayedBefore} replayed before (--again takes them too)`);
  if (impossible > 0) parts.push(`${impossible} cannot be replayed`);
  return parts.join('; ');
}
