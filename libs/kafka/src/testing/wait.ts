import { realDelayMs, realNowMs } from '#libs/clock';

const LAST_RESORT_MS = 120_000;

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits in turns of the event loop, for conditions that do not depend on time. */
export async function until(isSo: () => boolean): Promise<void> {
  await reached(isSo, 'what the test waits for did not come about', LAST_RESORT_MS, nextTurn);
}

/** @param what completes the error text `it did not come about that …` */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = LAST_RESORT_MS,
): Promise<void> {
  await reached(isSo, `it did not come about that ${what}`, timeoutMs, () => realDelayMs(10));
}

async function reached(
  isSo: () => boolean | Promise<boolean>,
  failure: string,
  timeoutMs: number,
  pause: () => Promise<void>,
): Promise<void> {
  const giveUpMs = realNowMs() + timeoutMs;
  while (!(await isSo())) {
    if (realNowMs() > giveUpMs) throw new Error(failure);
    await pause();
  }
}
