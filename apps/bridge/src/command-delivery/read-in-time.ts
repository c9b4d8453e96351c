import { abortable, afterRealMs, realDelayMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';

const BACK_OFF = { baseMs: 100, capMs: 1000 };

export interface ReadInTimeOptions {
  deadlineMs: number;
  stopping: AbortSignal;
  /** It will be tried again. */
  onFailure: (why: string) => void;
}

/**
 * Tries until all is read, for `deadlineMs` at most; whatever reads is to give up when its signal aborts, and is not
 * waited for then. Never rejects: returns undefined once all is read, else what kept it from that, in words.
 */
export async function readInTime(
  read: (signal: AbortSignal) => Promise<void>,
  { deadlineMs, stopping, onFailure }: ReadInTimeOptions,
): Promise<string | undefined> {
  const tooLong = new AbortController();
  const stopTimer = afterRealMs(deadlineMs, () => {
    tooLong.abort(new Error(`not read in ${deadlineMs / 1000} s`));
  });
  const why = await tryUntil(AbortSignal.any([stopping, tooLong.signal]), read, onFailure);
  stopTimer();
  return why;
}

async function tryUntil(
  signal: AbortSignal,
  read: (signal: AbortSignal) => Promise<void>,
  onFailure: (why: string) => void,
): Promise<string | undefined> {
  let why: string | undefined;
  const isOver = (): boolean => signal.aborted;
  for (let attempt = 1; !isOver(); attempt += 1) {
    try {
      // Where Kafka says nothing, the client would go on asking for much longer.
      await abortable(read(signal), signal);
      return undefined;
    } catch (error) {
      if (isOver()) break;
      why = String(error);
      onFailure(why);
    }
    await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
  }
  return why ?? String(signal.reason);
}
