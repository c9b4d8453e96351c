/**
 * Exits 0 on a signal until another listener takes over. Before that, nothing runs that has to be stopped, and a
 * program that was asked to stop should not look as if it had been killed.
 */
export function exitUntilTakenOver() {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const exit = () => process.exit(0);
    const leave = (event) => {
      if (event !== signal) return;
      process.off('newListener', leave);
      // not before the other listener is there: without any listener Node stops handling the signal, and misses the
      // next one
      process.nextTick(() => process.off(signal, exit));
    };
    process.on(signal, exit);
    process.on('newListener', leave);
  }
}
