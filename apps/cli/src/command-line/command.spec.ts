import { jest } from '@jest/globals';
import { createProgram } from '../program.js';

describe('what a command is called with', () => {
  beforeEach(() => {
    jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const called = async (...words: string[]): Promise<unknown> => {
    const program = createProgram();
    return program.parseAsync(words, { from: 'user' }).catch((error: unknown) => error);
  };

  it.each(['dlq list a b', 'dlq replay a b --all --yes', 'topics create a', 'config check a'])(
    'is refused where it is more than the command takes: %s',
    async (words) => {
      expect(await called(...words.split(' '))).toMatchObject({
        code: 'commander.excessArguments',
      });
    },
  );

  it.each([
    ['help', 'machine-bridge [options] <command>'],
    ['help dlq', 'dlq -- <command>'],
    ['help dlq show', 'dlq -- show [options] <topic>'],
  ])('may be %s', async (words, usage) => {
    const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    expect(await called(...words.split(' '))).toMatchObject({ exitCode: 0 });
    expect(stdout).toHaveBeenCalledWith(expect.stringContaining(usage));
  });

  it.each(['help nothing', 'help dlq nothing', 'help doctor nothing'])(
    'is named where help knows no such command: %s',
    async (words) => {
      const message = expect.stringContaining("'nothing'") as string;
      expect(await called(...words.split(' '))).toMatchObject({ message });
    },
  );

  it.each([
    'flows --bridge 127.0.0.1:3000',
    'outcomes --order 1 --bridge ftp://bridge',
    'machines --bridge localhost',
    'doctor --url localhost:3000',
  ])('is refused where it is no URL of a bridge: %s', async (words) => {
    const message = expect.stringContaining('must be a URL') as string;
    expect(await called(...words.split(' '))).toMatchObject({ message });
  });

  it.each([
    '--message=',
    '--order= ',
    '--machine=',
    '--order=1 --limit=1001',
    '--order=1 --limit=0',
  ])('is refused where no outcomes can be asked for by it: %s', async (options) => {
    const words = options.split(/ (?=--)/);
    const error = await called('outcomes', '--bridge', 'http://127.0.0.1:1', ...words);
    expect(error).toMatchObject({ code: 'commander.invalidArgument' });
  });

  it.each([
    ['pause work-orders', '--reason='],
    ['pause work-orders', '--by= '],
    ['dlq replay a', '--by='],
  ])('is refused where it says nothing: %s %s', async (words, option) => {
    const error = await called(...words.split(' '), option);
    expect(error).toMatchObject({ code: 'commander.invalidArgument' });
  });
});
