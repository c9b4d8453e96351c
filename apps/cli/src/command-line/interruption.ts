/** Aborts at the first Ctrl-C or SIGTERM, for a command to stop where it does no harm; a second one ends the process. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
    });
  }
  return interrupted.signal;
}
