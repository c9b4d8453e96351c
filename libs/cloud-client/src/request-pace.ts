import { afterRealMs, onAbort, realNowMs } from '#libs/clock';

/** Allowance for a late timer: turns that fell due within it follow at once, older ones are lost. */
const TIMER_LATENESS_MS = 2;
/** A day: a longer wait would overflow the timer. */
const LONGEST_SPACING_MS = 86_400_000;

/** When the next turn is due, after one that was due at `dueMs` and is taken at `nowMs`. */
export function nextDueMs(dueMs: number, nowMs: number, spacingMs: number): number {
  return Math.max(dueMs, nowMs - TIMER_LATENESS_MS) + spacingMs;
}

/** Purpose of a turn: a command, a poll, or any other request. */
type TurnKind = 'command' | 'lookUp' | 'poll';

type Waiting = Set<() => void>;

/**
 * Rate limit that spaces requests evenly; unused turns are not saved up. Commands, polls and other requests have
 * queues of their own, first in, first out, that take turns: there are one waiting command at a time, few look-ups,
 * which commands may wait for, and many polls.
 */
export class RequestPace {
  private readonly spacingMs: number;
  private readonly waiting: Record<TurnKind, Waiting> = {
    ...{ command: new Set(), lookUp: new Set(), poll: new Set() },
  };
  /** The queue whose last turn is longest ago comes first. */
  private queues = Object.values(this.waiting);
  private dueMs = -Infinity;
  private isTimerSet = false;

  constructor(requestsPerSecond: number) {
    this.spacingMs = Math.min(1000 / requestsPerSecond, LONGEST_SPACING_MS);
  }

  /** Gives an unused turn to the next waiting request. */
  returnTurn(): void {
    this.dueMs -= this.spacingMs;
    this.release();
  }

  /** Waits for a turn; a command then chooses what to send. @throws the signal's reason; the turn goes to another */
  async awaitTurn(kind: TurnKind, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const waiting = this.waiting[kind];
    if (this.nextWaiting().size === 0 && realNowMs() >= this.dueMs) {
      this.dueMs = realNowMs() + this.spacingMs;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        stopWatching?.();
        resolve();
      };
      const stopWatching =
        signal &&
        onAbort(signal, () => {
          waiting.delete(go);
          reject(signal.reason as Error);
        });
      waiting.add(go);
      this.setTimer();
    });
  }

  /** Takes the next turn before all waiting calls: for a login, without which none of them can proceed. */
  async awaitTurnAhead(): Promise<void> {
    const nowMs = realNowMs();
    const dueMs = Math.max(this.dueMs, nowMs);
    this.dueMs = dueMs + this.spacingMs;
    if (dueMs > nowMs) await new Promise<void>((go) => afterRealMs(Math.ceil(dueMs - nowMs), go));
  }

  private setTimer(): void {
    if (this.isTimerSet || this.nextWaiting().size === 0) return;
    this.isTimerSet = true;
    afterRealMs(Math.ceil(this.dueMs - realNowMs()), () => {
      this.isTimerSet = false;
      this.release();
    });
  }

  private release(): void {
    for (;;) {
      const nowMs = realNowMs();
      const waiting = this.nextWaiting();
      const [go] = waiting;
      if (go === undefined || nowMs < this.dueMs) break;
      this.dueMs = nextDueMs(this.dueMs, nowMs, this.spacingMs);
      this.queues = [...this.queues.filter((queue) => queue !== waiting), waiting];
      waiting.delete(go);
      go();
    }
    this.setTimer();
  }

  /** The queue whose turn is next; empty if nothing waits. */
  private nextWaiting(): Waiting {
    return this.queues.find(({ size }) => size > 0) ?? this.waiting.command;
  }
}
