/** Aborts at the first Ctrl-C or SIGTERM, so that the command stops safely; a second one ends the process. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted.abort();
    });
  }
  return interrupted.signal;
}
