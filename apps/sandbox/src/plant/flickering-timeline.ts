import type { MachineState } from './machine-state.js';
import { prevailingState, type SignalPiece } from './prevailing-state.js';
import { seededRandom } from './seeded-random.js';
import type { Segment, Timeline } from './timeline.js';

/**
 * A machine whose signal changes several times within a minute while it runs: short stops of 5 to
 * 25 seconds. Each minute shows the state that prevailed in it.
 */
export class FlickeringTimeline implements Timeline {
  constructor(
    private readonly base: Timeline,
    private readonly key: { seed: string; machineIndex: number },
  ) {}

  segmentAt(minute: number): Segment {
    const segment = this.base.segmentAt(minute);
    if (segment.state !== 'OPERATING') return segment;
    const state = prevailingState(this.signalOf(minute));
    return { fromMinute: minute, toMinute: minute + 1, state };
  }

  /** The signal within one minute; its pieces add up to 60 seconds. */
  signalOf(minute: number): SignalPiece[] {
    const random = seededRandom(this.key.seed, this.key.machineIndex, 'signal', minute);
    const pieces: SignalPiece[] = [];
    let state: MachineState = random() < 0.5 ? 'OPERATING' : 'IDLE';
    for (let left = 60; left > 0;) {
      const seconds = Math.min(left, 5 + Math.floor(random() * 21));
      pieces.push({ state, seconds });
      state = state === 'OPERATING' ? 'IDLE' : 'OPERATING';
      left -= seconds;
    }
    return pieces;
  }
}
