import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { DeadLetters } from '../outbox/dead-letters.js';
import { type OutboundRecord } from '../outbox/outbound-record.js';
import { type Outbox } from '../outbox/outbox.js';
import { deliverMessage } from './deliver-message.js';
import { type InboundMessage } from './inbound-message.js';

describe('deliverMessage', () => {
  let sent: OutboundRecord[];
  let attempts: number;
  let controller: AbortController;
  let message: InboundMessage;
  const outbox: Pick<Outbox, 'send'> = {
    send: (record) => {
      sent.push(record);
      return Promise.resolve();
    },
  };
  const deadLetters = new DeadLetters(outbox as Outbox, new ManualClock(), '');

  beforeAll(() => {
    Logger.overrideLogger(false);
    // the shortest back-off there is
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });

  afterAll(() => {
    jest.restoreAllMocks();
  });

  beforeEach(() => {
    sent = [];
    attempts = 0;
    controller = new AbortController();
    message = {
      topic: 'topic',
      partition: 1,
      offset: 7,
      timestamp: '0',
      key: Buffer.from('M-1'),
      value: Buffer.from([0xff]),
      headers: {},
      signal: controller.signal,
    };
  });

  const failing =
    (times: number, meanwhile: () => void = () => undefined) =>
    (): Promise<void> => {
      attempts += 1;
      meanwhile();
      return attempts <= times ? Promise.reject(new TypeError('a bug')) : Promise.resolve();
    };

  it('is done when the handler is', async () => {
    await deliverMessage(message, failing(0), deadLetters);
    expect({ attempts, sent }).toEqual({ attempts: 1, sent: [] });
  });

  it('tries again what failed by a bug that passes', async () => {
    await deliverMessage(message, failing(2), deadLetters);
    expect({ attempts, sent }).toEqual({ attempts: 3, sent: [] });
  });

  it('sets aside, byte for byte, what fails every time', async () => {
    await deliverMessage(message, failing(Infinity), deadLetters);
    expect(attempts).toBe(3);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ topic: 'topic.dlq', key: message.key, value: message.value });
    expect(sent[0]?.headers).toMatchObject({
      'dlq-code': 'invalid-message',
      'dlq-source-offset': '7',
      'dlq-attempts': '0',
    });
  });

  it('survives a handler that throws before it returns a promise', async () => {
    await deliverMessage(
      message,
      () => {
        throw new RangeError('at once');
      },
      deadLetters,
    );
    expect(sent).toHaveLength(1);
  });

  it("ends with its signal's reason when that aborts, and sets nothing aside", async () => {
    const abort = (): void => {
      controller.abort(new Error('revoked'));
    };
    const delivery = deliverMessage(message, failing(Infinity, abort), deadLetters);
    await expect(delivery).rejects.toThrow('revoked');
    expect({ attempts, sent }).toEqual({ attempts: 1, sent: [] });
  });

  it('sets nothing aside when the signal aborts during the last attempt', async () => {
    const abortAtLast = (): void => {
      if (attempts === 3) controller.abort(new Error('revoked'));
    };
    const delivery = deliverMessage(message, failing(Infinity, abortAtLast), deadLetters);
    await expect(delivery).rejects.toThrow('revoked');
    expect({ attempts, sent }).toEqual({ attempts: 3, sent: [] });
  });

  it('is not done while the dead letter is not acknowledged', async () => {
    const refusing: Pick<Outbox, 'send'> = { send: () => Promise.reject(new Error('closed')) };
    const letters = new DeadLetters(refusing as Outbox, new ManualClock(), '');
    await expect(deliverMessage(message, failing(Infinity), letters)).rejects.toThrow('closed');
  });
});
