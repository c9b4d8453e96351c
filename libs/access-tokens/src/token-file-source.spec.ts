import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { captureLogs, type CapturedLogs } from '../../logging/test/captured-logs.js';
import { TokenFileSource } from './token-file-source.js';

describe('a token file', () => {
  let directory: string;
  let path: string;
  let nowMs: number;
  let source: TokenFileSource;
  let logs: CapturedLogs;

  beforeEach(async () => {
    logs = captureLogs();
    directory = await mkdtemp(join(tmpdir(), 'token-file-'));
    path = join(directory, 'token');
    nowMs = 0;
    source = new TokenFileSource(path, () => nowMs);
  });

  afterEach(async () => {
    logs.release();
    await rm(directory, { recursive: true });
  });

  async function token(): Promise<string | undefined> {
    const answer = await source.obtainToken();
    return answer.kind === 'token' ? answer.token : undefined;
  }

  it('gives its content without surrounding white space', async () => {
    await writeFile(path, '\n first \r\n');
    expect(await token()).toBe('first');
  });

  it('is checked again after a second, not at every call', async () => {
    await writeFile(path, 'first');
    await token();
    await writeFile(path, 'a longer second'.replaceAll(' ', '-'));
    nowMs = 999;
    expect(source.currentToken()).toBe('first');
    nowMs = 1000;
    expect(source.currentToken()).toBeUndefined();
    expect(await token()).toBe('a-longer-second');
    expect(source.currentToken()).toBe('a-longer-second');
  });

  it('gives the new token when it is replaced by another of the same length', async () => {
    await writeFile(path, 'aaaa');
    await token();
    await writeFile(join(directory, 'next'), 'bbbb');
    await rename(join(directory, 'next'), path);
    expect(await token()).toBe('bbbb');
  });

  it('keeps the last token if the file has become a pipe without a writer, or an endless device', async () => {
    await writeFile(path, 'first');
    await token();
    await rm(path);
    await symlink('/dev/zero', path);
    expect(await token()).toBe('first');
    await rm(path);
    execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
    expect(await token()).toBe('first');
    const why = `token file ${path} cannot be read (it has more than 64 MiB, or no end)`;
    expect(logs.lines()).toEqual([{ msg: 'token file not read', why, keptLast: true }]);
  });

  it('is checked when its token is refused, and then gives another or none', async () => {
    await writeFile(path, 'first');
    await token();
    expect(await source.replaceToken('first')).toBeNull();
    await writeFile(path, 'the-second');
    expect(await source.replaceToken('first')).toEqual({ kind: 'token', token: 'the-second' });
    expect(source.currentToken()).toBe('the-second');
  });

  it('says what is wrong with it while it has never had a token', async () => {
    const why = async (): Promise<unknown> => {
      const answer = await source.obtainToken();
      return answer.kind === 'unavailable' && answer.why;
    };
    expect(await why()).toBe(`token file ${path} cannot be read (ENOENT)`);
    await writeFile(path, ' \n');
    expect(await why()).toBe(`token file ${path}: it is empty`);
    await writeFile(path, 'two words');
    const unsendable = 'a line break, a blank or another character that no token in a header';
    expect(await why()).toContain(`token file ${path}: it holds ${unsendable}`);
    await writeFile(path, 'two\nlines');
    expect(await why()).toContain(`token file ${path}: it holds ${unsendable}`);
    await writeFile(path, 'there');
    expect(await token()).toBe('there');
    expect(logs.text()).not.toContain('two words');
  });

  it('keeps the last token while it is missing, and logs that once', async () => {
    await writeFile(path, 'first');
    await token();
    await rm(path);
    expect([await token(), await token()]).toEqual(['first', 'first']);
    expect(logs.lines()).toEqual([
      {
        msg: 'token file not read',
        why: `token file ${path} cannot be read (ENOENT)`,
        keptLast: true,
      },
    ]);
    await writeFile(path, 'second');
    expect(await token()).toBe('second');
    expect(logs.lines().at(-1)).toEqual({ msg: 'token file read again', path });
  });
});
