import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../setup/root.mjs';
import { runTool } from '../setup/run-tool.mjs';
import { secondsSince, say } from '../setup/steps.mjs';

/**
 * Runs checks, each a `tool` out of node_modules or a `script` of our own, the first named first, as many
 * at a time as there are cores. Yields whether all passed.
 */
export async function runChecks(checks) {
  const waiting = [...checks];
  let allPassed = true;
  const work = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      allPassed = (await passes(check)) && allPassed;
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), checks.length) }, work));
  return allPassed;
}

async function passes({ name, tool, script, args }) {
  const startMs = performance.now();
  try {
    const program = join(ROOT, script ?? join('node_modules', tool));
    await runTool(process.execPath, [program, ...args], { cwd: ROOT, shownLines: Infinity });
    say(`  ✔ ${name} (${secondsSince(startMs)})`);
    return true;
  } catch (error) {
    say(`  ✘ ${name} (${secondsSince(startMs)})\n${error.message}`);
    return false;
  }
}
