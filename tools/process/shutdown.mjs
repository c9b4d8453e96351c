import { watchNpm } from './parent-watch.mjs';

// npm passes on a Ctrl-C that the terminal has already delivered to this process
const SAME_CTRL_C_MS = 1000;

/**
 * Ends everything that was started, in reverse order, exactly once.
 *
 * `add(name, stop, kill)` registers a thing to end; `signal` aborts as soon as the end begins; `unlessStopping(error)`
 * ignores failures that the end causes; `end(code, why)` ends everything and then the process. SIGINT and SIGTERM end
 * with `interruptedCode`. A second signal that is not npm's echo of the first ends everything at once.
 */
export function createShutdown({ interruptedCode, say, beforeExit = () => undefined }) {
  const things = [];
  const abort = new AbortController();
  let endedAt;

  async function end(code, why) {
    if (endedAt !== undefined) return;
    endedAt = Date.now();
    if (why) say(why);
    abort.abort(new Error(why ?? 'stopped'));
    for (const thing of things.reverse()) await stopOne(thing, say);
    await beforeExit(code);
    process.exit(code);
  }

  function interrupted(signal) {
    if (endedAt === undefined) void end(interruptedCode, `\n${signal}: stopping`);
    else if (Date.now() - endedAt > SAME_CTRL_C_MS) endAtOnce(things);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => interrupted(signal));
  process.on('uncaughtException', (error) => void end(1, error.stack));
  watchNpm(() => void end(1, 'npm is gone: stopping'));
  return {
    signal: abort.signal,
    add: (name, stop, kill) => things.push({ name, stop, kill }),
    unlessStopping: (error) => {
      if (!abort.signal.aborted) throw error;
    },
    end,
  };
}

async function stopOne({ name, stop }, say) {
  try {
    await stop();
  } catch (error) {
    say(`${name} did not stop cleanly: ${error.message}`);
  }
}

function endAtOnce(things) {
  for (const { kill } of things) void kill();
  // the channels to the guards close with this process; that alone makes the guards end their commands
  setTimeout(() => process.exit(130), 200);
}
