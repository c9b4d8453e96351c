import { readPath } from './option-values.js';

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
