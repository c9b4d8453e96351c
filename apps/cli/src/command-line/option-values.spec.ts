import { readFile } from 'node:fs/promises';
import { readPath, unreadableBecause } from './option-values.js';

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
