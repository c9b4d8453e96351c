import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { type RequestQueueClass, withoutIdleTimers } from './request-queue.js';

const QueueOfKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/network/requestQueue/index.js',
) as RequestQueueClass;

interface Queue {
  throttledUntil: number;
  push(request: object): void;
  fulfillRequest(answer: object): void;
}

const silent = { debug: () => undefined, namespace: () => silent };

describe("a broker's queue of requests", () => {
  let timersMs: (number | undefined)[];
  let sent: number[];

  beforeEach(() => {
    [timersMs, sent] = [[], []];
    jest.spyOn(global, 'setTimeout').mockImplementation(((_: unknown, ms?: number) => {
      timersMs.push(ms);
      return 1;
    }) as never);
  });
  afterEach(() => jest.restoreAllMocks());

  const queueOf = (Class: RequestQueueClass): Queue => {
    const options = { ...{ maxInFlightRequests: 1, requestTimeout: 1000, logger: silent } };
    const settings = { ...options, enforceRequestTimeout: false, clientId: 'c', broker: 'b' };
    return new Class({ ...settings, isConnected: () => true } as never) as unknown as Queue;
  };
  const request = (correlationId: number) => ({
    entry: { correlationId, resolve: () => undefined, reject: () => undefined },
    expectResponse: true,
    sendRequest: () => sent.push(correlationId),
  });
  const answer = (correlationId: number) => ({ correlationId, payload: {}, size: 0 });

  it('is asked by kafkajs to wait until long ago', () => {
    const queue = queueOf(QueueOfKafkajs);
    queue.push(request(1));
    queue.fulfillRequest(answer(1));
    expect(timersMs.some((ms) => (ms ?? 0) < 0)).toBe(true);
  });

  it('sets no timer where no request waits, and sends what waits when it may', () => {
    const queue = queueOf(withoutIdleTimers(QueueOfKafkajs));
    queue.push(request(1));
    queue.fulfillRequest(answer(1));
    expect(timersMs).toEqual([]);
    queue.push(request(2));
    queue.push(request(3));
    expect(sent).toEqual([1, 2]);
    queue.fulfillRequest(answer(2));
    expect(sent).toEqual([1, 2, 3]);
    expect(timersMs.every((ms) => (ms ?? 0) > 0)).toBe(true);
  });

  it('has a timer for what a broker has throttled', () => {
    const queue = queueOf(withoutIdleTimers(QueueOfKafkajs));
    queue.throttledUntil = Date.now() + 5000;
    queue.push(request(1));
    expect(sent).toEqual([]);
    expect(timersMs).toHaveLength(1);
  });
});
