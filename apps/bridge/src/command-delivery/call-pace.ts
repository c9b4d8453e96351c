import { type SlowCall } from '#libs/delivery';

const SLOW_FACTOR = 4;
/** Below this nothing counts as slow, whatever the service usually takes. */
const SLOW_FLOOR_MS = 250;
/** How much of what is typical a usual call, and a slow one, may change: the service may become slow as a whole. */
const USUAL_WEIGHT = 0.1;
const SLOW_WEIGHT = 0.02;

/** Tells calls that take much longer than the others: one machine in them may be holding up its company. */
export class CallPace {
  private typicalMs: number | undefined;

  /** @param byAnswer what its answer says of the machines in a call; it counts unless the call was slow */
  judge<C extends 'fine' | 'suspect'>(durationMs: number, byAnswer: C): C | SlowCall {
    const typicalMs = this.typicalMs ?? durationMs;
    const isSlow = durationMs > Math.max(SLOW_FLOOR_MS, SLOW_FACTOR * typicalMs);
    const weight = isSlow ? SLOW_WEIGHT : USUAL_WEIGHT;
    // One that fails quickly does not tell how long the service takes when it works.
    const isTelling = isSlow || byAnswer === 'fine';
    if (isTelling) this.typicalMs = typicalMs + weight * (durationMs - typicalMs);
    return isSlow ? { slowness: durationMs / typicalMs } : byAnswer;
  }
}
