const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const QUIET_HEARTBEAT_MS = 15_000;

/** A failure whose message is all the user needs: shown without a stack, the process exits 1. */
export class SetupError extends Error {}

/** Progress goes to stderr, so that what a command prints on stdout stays its own. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

export function secondsSince(startMs) {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}

/** Runs `work` and shows one line for it: what it is while it runs, how long it took afterwards. */
export async function step(name, work) {
  const startMs = performance.now();
  const stopShowing = showWaiting(name, startMs);
  try {
    const result = await work();
    stopShowing();
    say(`  ✔ ${name} (${secondsSince(startMs)})`);
    return result;
  } catch (error) {
    stopShowing();
    say(`  ✘ ${name} (${secondsSince(startMs)})`);
    throw error;
  }
}

function showWaiting(name, startMs) {
  if (!process.stderr.isTTY) {
    say(`  … ${name}`);
    const heartbeat = setInterval(
      () => say(`  … ${name}, ${secondsSince(startMs)}`),
      QUIET_HEARTBEAT_MS,
    );
    return () => clearInterval(heartbeat);
  }
  let frame = 0;
  const spinner = setInterval(() => {
    const sign = SPINNER[frame++ % SPINNER.length];
    process.stderr.write(`\r\x1b[K  ${sign} ${name}, ${secondsSince(startMs)}`);
  }, 100);
  return () => {
    clearInterval(spinner);
    process.stderr.write('\r\x1b[K');
  };
}
