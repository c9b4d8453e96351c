import { howToCall } from './how-to-call.js';

const command = (name: string, parent: object | null, usage = '[options]') =>
  ({ name: () => name, usage: () => usage, parent }) as Parameters<typeof howToCall>[0];

describe('howToCall', () => {
  const root = command('cli', null);

  it('names the npm script of a command, and what is typed behind it', () => {
    expect(howToCall(command('send', root, '[options] [files...]'))).toBe(
      'npm run send -- [options] [files...]',
    );
    expect(howToCall(command('list', command('dlq', root)))).toBe('npm run dlq -- list [options]');
    expect(howToCall(root)).toBe('npm run <command> -- [options]');
  });
});
