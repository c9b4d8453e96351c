import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { spawnGuarded } from '../process/guarded.mjs';

/** The project's folder, whatever the working directory. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** Files that the tools keep between runs; deleting the folder costs only time and the demo's data. */
export const LOCAL = resolve(ROOT, '.local');

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const QUIET_HEARTBEAT_MS = 15_000;
const SHOWN_LINES = 60;

/** A failure whose message is all that the user needs: printed without a stack, exit code 1. */
export class SetupError extends Error {}

/** Prints progress to stderr, so that stdout has only the command's own output. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

export function secondsSince(startMs) {
  return `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
}

/** Runs `work` and shows one line for it: its name while it runs, its duration afterwards. */
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

/**
 * Runs a program to its end, at the latest for `withinMs`, and shows its output only if it fails.
 *
 * @throws SetupError with its last lines
 */
export async function runTool(command, args, { withinMs, ...options } = {}) {
  const tool = spawnGuarded(command, args, { ...options, output: 'pipe' });
  const timer = withinMs && setTimeout(() => tool.stop(), withinMs);
  const [out, err, { code, error }] = await Promise.all([
    text(tool.stdout),
    text(tool.stderr),
    tool.exited,
  ]);
  clearTimeout(timer);
  if (code === 0) return out;
  const { shownLines } = options;
  const shown = [error ?? '', ...lastLines(out, shownLines), ...lastLines(err, shownLines)];
  throw new SetupError(
    `${command} ${args.join(' ')} failed (exit ${code}):\n${shown.filter(Boolean).join('\n')}`,
  );
}

export function lastLines(output, count = SHOWN_LINES) {
  return output.trimEnd().split('\n').slice(-count);
}

/** Ends the command with its usage: exit code 0 after `--help`, 1 after arguments of a command that takes none. */
export function showUsage(usage, { takesArguments = false, args = process.argv.slice(2) } = {}) {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage);
    process.exit(0);
  }
  if (takesArguments || args.length === 0) return;
  console.error(`There is no argument ${args.join(' ')}.\n\n${usage}`);
  process.exit(1);
}
