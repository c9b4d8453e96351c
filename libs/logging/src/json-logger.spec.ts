import { describe, expect, it } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { jsonLogger } from './index.js';

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

  it('writes nothing below its level', () => {
    const lines = linesOf((logger) => {
      logger.debug?.('hidden', 'Nest');
      logger.verbose?.('hidden', 'Nest');
    });

    expect(lines).toEqual([]);
  });
});

function linesOf(write: (logger: LoggerService) => void): unknown[] {
  const lines: unknown[] = [];
  write(jsonLogger('info', { write: (line) => lines.push(JSON.parse(line)) }));
  return lines;
}
