const ECHO_MS = 500;

/**
 * Drops the second of two equal signals that come at almost the same time.
 *
 * A Ctrl-C reaches every process of the terminal, and npm passes its own copy on to the script that it runs: one key
 * press gives two signals. An app takes a second signal as a demand to end at once, and would never stop cleanly.
 */
export function dropSignalEchoes(target = process) {
  if (!process.env.npm_lifecycle_event) return;
  const lastMs = new Map();
  const emit = target.emit;
  target.emit = function emitUnlessEcho(event, ...values) {
    if (event === 'SIGINT' || event === 'SIGTERM') {
      const nowMs = performance.now();
      const isEcho = nowMs - (lastMs.get(event) ?? -Infinity) < ECHO_MS;
      lastMs.set(event, nowMs);
      if (isEcho) return true;
    }
    return emit.call(this, event, ...values);
  };
}
