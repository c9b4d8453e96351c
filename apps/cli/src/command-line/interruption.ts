/**
 * Aborts at the first Ctrl-C or SIGTERM, so that the command stops safely; a second one ends the process.
 *
 * @param writes also when the reader of stdout has gone, which else ends the process at once
 */
export function interruption({ writes = false } = {}): AbortSignal {
  const interrupted = new AbortController();
  if (writes) {
    process.stdout.removeAllListeners('error').on('error', () => interrupted.abort());
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => interrupted.abort());
  }
  return interrupted.signal;
}
