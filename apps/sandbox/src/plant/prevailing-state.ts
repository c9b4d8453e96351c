import type { MinuteState } from './timeline.js';

export interface SignalPiece {
  state: MinuteState;
  seconds: number;
}

/**
 * The state of a minute in which the signal changes: the one that lasted longest in total, and of two equal ones the
 * one seen last.
 */
export function prevailingState(pieces: readonly SignalPiece[]): MinuteState {
  const seconds = new Map<MinuteState, number>();
  for (const piece of pieces) {
    const held = (seconds.get(piece.state) ?? 0) + piece.seconds;
    // re-inserted, so that the map is in order of last occurrence
    seconds.delete(piece.state);
    seconds.set(piece.state, held);
  }
  let prevailing: MinuteState = null;
  let longest = 0;
  for (const [state, held] of seconds) {
    if (held >= longest) [prevailing, longest] = [state, held];
  }
  return prevailing;
}
