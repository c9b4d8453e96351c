import { text } from 'node:stream/consumers';
import { spawnGuarded } from '../process/guarded.mjs';
import { SetupError } from './steps.mjs';

const SHOWN_LINES = 60;

/** Runs a program to its end without showing its output, unless it fails. @throws SetupError with its last lines */
export async function runTool(command, args, options = {}) {
  const tool = spawnGuarded(command, args, { ...options, output: 'pipe' });
  const [out, err, { code, error }] = await Promise.all([
    text(tool.stdout),
    text(tool.stderr),
    tool.exited,
  ]);
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
