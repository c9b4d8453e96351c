import type { MinuteState } from './timeline.js';

export interface SignalPiece {
  state: MinuteState;
  seconds: number;
}

/**
 * The one state of a minute in which the signal changed: the one that held for most of its
 * seconds, and of two that held equally long the one that was seen last.
 */
export function prevailingState(pieces: readonly SignalPiece[]): MinuteState {
  const seconds = new Map<MinuteState, number>();
  for (const piece of pieces) {
    const held = (seconds.get(piece.state) ?? 0) + piece.seconds;
    // re-inserted, so that the map's order is the order in which the states were last seen
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
