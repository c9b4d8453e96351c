import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const LOCK = resolve(import.meta.dirname, '../../tools/setup/lock.mjs');
const LONG_AGO = new Date(Date.now() - 60_000);

describe('the lock that a set-up takes', () => {
  const file = join(temporaryFolder(), 'setup.lock');

  /** Holds the lock until its input ends. */
  const setUp = (lock = file) => {
    const program = `
      const { withSetupLock } = await import(${JSON.stringify(LOCK)});
      const end = new Promise((resolve) => process.stdin.resume().once('end', resolve));
      await withSetupLock(() => end, ${JSON.stringify(lock)});
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => (text += part));
    return { child, said: () => text, ended: once(child, 'close') };
  };
  const holder = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);

  it('makes others wait, and they name its holder', async () => {
    const [first, second] = [setUp(), setUp()];
    await eventually(() => [first.child.pid, second.child.pid].includes(holder()));
    const [one, other] = holder() === first.child.pid ? [first, second] : [second, first];
    await eventually(() => other.said() !== '');
    one.child.stdin.end();
    await one.ended;
    await eventually(() => holder() === other.child.pid);
    other.child.stdin.end();
    expect(await other.ended).toEqual([0, null]);
    expect(other.said()).toContain(`waiting for process ${one.child.pid}`);
    expect(existsSync(file)).toBe(false);
  });

  it('is taken from a holder that is gone, even if its number belongs to another process now', async () => {
    writeFileSync(file, String(process.pid));
    utimesSync(file, LONG_AGO, LONG_AGO);
    const { child, said, ended } = setUp();
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect(said()).toBe('');
  });

  it('is not needed where it cannot be written', async () => {
    const noFolder = join(temporaryFolder(), 'a-file');
    writeFileSync(noFolder, '');
    const { child, said, ended } = setUp(join(noFolder, 'setup.lock'));
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect(said()).toBe('');
  });
});
