import { npmUsage } from './npm-usage.js';

const command = (name: string, parent: object | null, usage = '[options]') =>
  ({ name: () => name, usage: () => usage, parent }) as Parameters<typeof npmUsage>[0];

describe('npmUsage', () => {
  const root = command('cli', null);

  it('names the npm script of a command, and what is typed behind it', () => {
    expect(npmUsage(command('send', root, '[options] [files...]'))).toBe(
      'npm run send -- [options] [files...]',
    );
    expect(npmUsage(command('list', command('dlq', root)))).toBe('npm run dlq -- list [options]');
    expect(npmUsage(root)).toBe('machine-bridge [options]');
    expect(npmUsage(command('offsets', root))).toBe('machine-bridge offsets [options]');
  });

  it('names the program where it was called by that', () => {
    const list = command('list', command('dlq', root));
    expect(npmUsage(list, 'machine-bridge')).toBe('machine-bridge dlq list [options]');
  });
});
