import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { jsonLogger, lineStream } from './index.js';

describe('jsonLogger', () => {
  it('writes the fields of an event beside the context that logs it', () => {
    const [line] = linesOf((logger) => {
      logger.warn({ msg: 'held back', offset: '7' }, 'Consumer');
    });

    expect(line).toMatchObject({ level: 40, context: 'Consumer', msg: 'held back', offset: '7' });
  });

  it('writes a text as the message', () => {
    const [line] = linesOf((logger) => {
      logger.log('started', 'Nest');
    });

    expect(line).toMatchObject({ level: 30, context: 'Nest', msg: 'started' });
  });

  it('writes an error of an event with its type, message and stack', () => {
    const event = { msg: 'poll failed', err: new TypeError('no state') };
    const [line] = linesOf((logger) => {
      logger.error(event, 'PollLoop');
    });

    expect(line).toMatchObject({
      ...{ level: 50, context: 'PollLoop', msg: 'poll failed' },
      err: { type: 'TypeError', message: 'no state', stack: expect.stringContaining('at ') },
    });
  });

  it("writes an error that Nest's exception handlers give as a message and a stack", () => {
    const [line] = linesOf((logger) => {
      logger.error('no state', 'Error: no state\n    at poll (poll.ts:1)', 'ExceptionsHandler');
    });

    expect(line).toMatchObject({
      context: 'ExceptionsHandler',
      err: { message: 'no state', stack: expect.stringContaining('poll.ts:1') },
    });
  });

  it.each(['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory'])(
    "leaves out what Nest's %s says of each start, and not what goes wrong there",
    (context) => {
      const lines = linesOf((logger) => {
        logger.log('PlatformModule dependencies initialized', context);
        logger.error('no port', context);
      });

      expect(lines).toEqual([expect.objectContaining({ level: 50, context, msg: 'no port' })]);
    },
  );

  it('writes nothing below its level', () => {
    const lines = linesOf((logger) => {
      logger.debug?.('hidden', 'Nest');
      logger.verbose?.('hidden', 'Nest');
    });

    expect(lines).toEqual([]);
  });

  it('keeps lines while the disk is full, and lets the process end', async () => {
    const folder = fs.mkdtempSync(join(tmpdir(), 'logging-'));
    const file = join(folder, 'log');
    const stream = lineStream(fs.openSync(file, 'w'));
    const logger = jsonLogger('info', stream);
    const isFull = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const write = jest.spyOn(fs, 'write') as unknown as jest.Mock<(...args: unknown[]) => void>;
    write.mockImplementationOnce((...args) => {
      (args.at(-1) as (error: Error) => void)(isFull);
    });
    const writeSync = jest.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw isFull;
    });

    logger.log('first', 'Nest');
    stream.flushSync();
    writeSync.mockRestore();
    const drained = once(stream, 'drain');
    logger.log('second', 'Nest');
    await drained;

    expect(fs.readFileSync(file, 'utf8')).toMatch(/first.*\n.*second.*\n/);
    fs.rmSync(folder, { recursive: true });
  });
});

function linesOf(write: (logger: LoggerService) => void): unknown[] {
  const lines: unknown[] = [];
  write(jsonLogger('info', { write: (line) => lines.push(JSON.parse(line)) }));
  return lines;
}
