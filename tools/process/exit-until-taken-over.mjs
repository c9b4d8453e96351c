/**
 * Exits 0 on a signal, until somebody else listens to it: before that nothing runs that would have to be stopped,
 * and a program that has been asked to stop should not look as if it had been killed.
 */
export function exitUntilTakenOver() {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const exit = () => process.exit(0);
    const leave = (event) => {
      if (event !== signal) return;
      process.off('newListener', leave);
      // not before the other is there: without any listener Node lets go of the signal, and then misses the new one
      process.nextTick(() => process.off(signal, exit));
    };
    process.on(signal, exit);
    process.on('newListener', leave);
  }
}
