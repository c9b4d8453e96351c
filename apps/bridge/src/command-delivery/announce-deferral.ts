import { afterRealMs } from '#libs/clock';

/** Does the work and, if it takes longer than `afterMs` of real time, announces so once meanwhile. */
export async function announceDeferral<T>(
  afterMs: number,
  announce: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  let announced: Promise<void> | undefined;
  const cancel = afterRealMs(afterMs, () => {
    // Its failure is not the work's, and is caught here: nobody waits for it while the work goes on.
    announced = announce().catch(() => undefined);
  });
  try {
    return await work();
  } finally {
    cancel();
    // An announcement under way comes before the final outcome.
    await announced;
  }
}
