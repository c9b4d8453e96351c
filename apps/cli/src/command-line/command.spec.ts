import { readFile } from 'node:fs/promises';
import { jest } from '@jest/globals';
import { createProgram } from '../program.js';
import { readPath, readRate, unreadableBecause } from './option-values.js';
import { commandKafkaSettings } from './kafka.js';

describe('the arguments of a command', () => {
  beforeEach(() => {
    // a failed test sets process.exitCode, with which commander's help exits
    process.exitCode = 0;
    jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  });
  const called = async (...words: string[]): Promise<unknown> => {
    const program = createProgram();
    return program.parseAsync(words, { from: 'user' }).catch((error: unknown) => error);
  };

  it.each(['dlq list a b', 'dlq replay a b --all --yes', 'topics create a', 'config check a'])(
    'are refused where they are too many: %s',
    async (words) => {
      expect(await called(...words.split(' '))).toMatchObject({
        code: 'commander.excessArguments',
      });
    },
  );

  it.each([
    'dlq list a --code unknown-machine --code=too-large',
    'dlq list a --limit 2 --limit=2',
    'dlq show a --offset 1 --offset=1',
    'dlq replay a --machine M-404 --machine=M-404',
  ])('is refused where it has an option twice rather than take the last: %s', async (words) => {
    const message = expect.stringMatching(/^error: option '--.* may be given once only$/) as string;
    expect(await called(...words.split(' '))).toMatchObject({ message });
  });

  it.each([
    ['help', 'machine-bridge [options] <command>'],
    ['help dlq', 'dlq -- <command>'],
    ['help dlq show', 'npm run dlq -- show [options] <topic>'],
    ['help send', 'npm run send -- [options] <files...>'],
    ['help offsets show', 'machine-bridge offsets show [options]'],
  ])('may be %s', async (words, usage) => {
    const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    expect(await called(...words.split(' '))).toMatchObject({ exitCode: 0 });
    expect(stdout).toHaveBeenCalledWith(expect.stringContaining(usage));
  });

  it('are shown behind the name of the program where it was called by that', async () => {
    const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const { title } = process;
    process.title = 'machine-bridge';
    await called('help', 'dlq', 'list');
    process.title = title;
    const usage = 'machine-bridge dlq list [options] [topic]';
    expect(stdout).toHaveBeenCalledWith(expect.stringContaining(usage));
  });

  it.each(['help nothing', 'help dlq nothing', 'help doctor nothing'])(
    'are quoted where help has no such command: %s',
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
    'flows --bridge http://user:password@bridge',
    'flows --bridge=',
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
    ['dlq list a', '--machine='],
    ['dlq replay a --yes', '--machine= '],
    ['watch', '--machine='],
    ['send a', '--topic='],
    ['send a', '--key= '],
    ['send a', '--content-type='],
    ['erp preview a', '--map='],
    ['erp preview a', '--mapping= '],
    ['erp preview a', '--time-zone='],
    ['erp preview a', '--content-type='],
    ['erp preview a', '--topic='],
  ])('is refused where it says nothing: %s %s', async (words, option) => {
    const error = await called(...words.split(' '), option);
    expect(error).toMatchObject({ code: 'commander.invalidArgument' });
  });
});

describe('a path from the command line', () => {
  it.each([
    ['./x.xml', '/orders/x.xml'],
    ['../x.xml', '/x.xml'],
    ['/tmp/x.xml', '/tmp/x.xml'],
    ['', ''],
  ])('%j is meant from where npm was called', (path, meant) => {
    expect(readPath(path, { INIT_CWD: '/orders' })).toBe(meant);
  });

  it('is unchanged without npm', () => {
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

describe('a rate', () => {
  it('has a minimum that a timer can wait for', () => {
    expect([readRate('0.001'), readRate('250')]).toEqual([0.001, 250]);
    for (const text of ['0', '0.0000001', '-1', '1e3']) {
      expect(() => readRate(text)).toThrow('It must be a number from 0.001.');
    }
  });
});

describe('the Kafka of a command', () => {
  it.each([undefined, ''])('is on this host where KAFKA_BROKERS is %j', (brokers) => {
    const { KAFKA_BROKERS: before } = process.env;
    if (brokers === undefined) delete process.env['KAFKA_BROKERS'];
    else process.env['KAFKA_BROKERS'] = brokers;
    try {
      expect(commandKafkaSettings().brokers).toEqual(['127.0.0.1:9092']);
    } finally {
      if (before === undefined) delete process.env['KAFKA_BROKERS'];
      else process.env['KAFKA_BROKERS'] = before;
    }
  });
});
