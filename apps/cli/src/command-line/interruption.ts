/**
 * Aborts at the first Ctrl-C or SIGTERM, so that the command stops safely. A second one ends the process.
 *
 * @param writes aborts also when the reader of stdout closes the pipe, which otherwise ends the process at once
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
