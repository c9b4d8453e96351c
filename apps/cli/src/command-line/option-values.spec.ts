import { readFile } from 'node:fs/promises';
import { readPath, readRate, readUrl, unreadableBecause } from './option-values.js';

describe('a path from the command line', () => {
  it.each([
    ['./x.xml', '/orders/x.xml'],
    ['../x.xml', '/x.xml'],
    ['/tmp/x.xml', '/tmp/x.xml'],
    ['', ''],
  ])('%j is meant from where npm was called', (path, meant) => {
    expect(readPath(path, { INIT_CWD: '/orders' })).toBe(meant);
  });

  it('stays as it is without npm', () => {
    expect(readPath('./x.xml', {})).toBe('./x.xml');
  });
});

describe('a file that cannot be read', () => {
  it.each([
    ['/none/such', 'there is no such file'],
    ['/', 'it is a folder: name its files'],
  ])('%s: says why in words', async (path, why) => {
    expect(unreadableBecause(await readFile(path).catch((error: unknown) => error))).toBe(why);
  });
});

describe('the URL of a bridge', () => {
  it.each(['http://127.0.0.1:3000', 'https://bridge.example.com/a'])('is taken: %s', (url) => {
    expect(readUrl(url)).toBe(url);
  });

  it.each(['bridge:3000', 'ftp://bridge', 'http://user:password@bridge', ''])(
    'is refused: %j',
    (url) => {
      expect(() => readUrl(url)).toThrow('It must be a URL such as');
    },
  );
});

describe('a rate', () => {
  it('is not so low that a timer could not wait for the next', () => {
    expect([readRate('0.001'), readRate('250')]).toEqual([0.001, 250]);
    for (const text of ['0', '0.0000001', '-1', '1e3']) {
      expect(() => readRate(text)).toThrow('It must be a number from 0.001.');
    }
  });
});
