import { realDelayMs } from '#libs/clock';
import { type Rejection } from '#libs/contracts';
import { judgeAnswer, type ServiceAnswer } from '#libs/delivery';
import { type FlowStatus } from './flow-status.js';

/** What is known to be wrong with a command; `unavailable`: it cannot be told just now, which passes. */
export type Refusal = Rejection | 'unavailable' | undefined;

const CANNOT_ASK: ServiceAnswer = {
  kind: 'retry',
  afterMs: null,
  error: new Error('the service cannot be asked which machines and reasons there are'),
};

/**
 * Asks, with the back-off of a call, until it can be told whether a command is to be refused.
 *
 * @throws the signal's reason when it aborts first
 */
export async function askUntilTold(
  refuse: () => Promise<Refusal>,
  status: FlowStatus,
  signal: AbortSignal,
): Promise<Rejection | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const refusal = await refuse();
    if (refusal !== 'unavailable') return refusal;
    const verdict = judgeAnswer(CANNOT_ASK, attempt);
    status.note(verdict);
    await realDelayMs(verdict.kind === 'try-again' ? verdict.waitMs : 0, signal);
  }
}
