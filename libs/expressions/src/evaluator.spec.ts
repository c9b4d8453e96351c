import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { realDelayMs, realNowMs } from '#libs/clock';
import { temporaryFile } from '../../config/test/temporary-files.js';
import { LIMITS } from './limits.js';

const PROGRAM = join(import.meta.dirname, 'evaluator.js');

/** A process that requests an endless evaluation and then sends the evaluator's process id. */
const ASKER = `
  import { fork } from 'node:child_process';
  const limits = ${JSON.stringify(JSON.stringify(LIMITS))};
  const evaluator = fork(${JSON.stringify(PROGRAM)}, [limits], { serialization: 'advanced' });
  evaluator.on('message', () => {
    const input = JSON.stringify({ t: 'a'.repeat(30) + '!' });
    const expression = '$contains(t, /^(a|\\\\w){30}$/)';
    evaluator.send({ expression, input, variables: {} }, () => process.send(evaluator.pid));
  });`;

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the process that evaluates', () => {
  it('does not outlive its parent, even during an endless evaluation', async () => {
    const asker = fork(temporaryFile('asker.mjs', ASKER));
    const [pid] = (await once(asker, 'message')) as [number];
    expect(isThere(pid)).toBe(true);
    asker.kill('SIGKILL');

    const until = realNowMs() + 30_000;
    while (isThere(pid) && realNowMs() < until) await realDelayMs(50);
    const isLeftOver = isThere(pid);
    if (isLeftOver) process.kill(pid, 'SIGKILL');
    expect(isLeftOver).toBe(false);
  });
});
