import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import './index.js';

const require = createRequire(import.meta.url);
/** With what is exchanged. */
const BrokerPool = require('kafkajs/src/cluster/brokerPool.js') as new (options: object) => {
  metadata: object;
  metadataExpireAt: number;
  refreshMetadata: () => Promise<unknown>;
  refreshMetadataIfNecessary: (topics: string[]) => Promise<unknown>;
};
const RequestQueue = require('kafkajs/src/network/requestQueue/index.js') as new (
  options: object,
) => {
  push(request: object): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
};

const silent = { debug: () => undefined, error: () => undefined, namespace: () => silent };

describe('when the wall clock is set', () => {
  let [wallMs, monotonicMs] = [0, 0];

  beforeEach(() => {
    [wallMs, monotonicMs] = [1_763_680_000_000, 1000];
    jest.useFakeTimers({ doNotFake: ['Date', 'performance'] });
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
  });
  afterEach(() => jest.useRealTimers());

  const pass = (ms: number): void => {
    wallMs += ms;
    monotonicMs += ms;
    jest.advanceTimersByTime(ms);
  };

  it.each([-7_200_000, 0])('by %i ms, metadata are refreshed once they expire', async (shiftMs) => {
    const pool = new BrokerPool({ logger: silent, metadataMaxAge: 5000 });
    let refreshed = 0;
    pool.refreshMetadata = () => Promise.resolve((refreshed += 1));
    pool.metadata = { topicMetadata: [{ topic: 'a' }] };
    pool.metadataExpireAt = wallMs + 5000;
    wallMs += shiftMs;
    pass(4000);
    await pool.refreshMetadataIfNecessary(['a']);
    expect(refreshed).toBe(0);
    pass(1001);
    await pool.refreshMetadataIfNecessary(['a']);
    expect(refreshed).toBe(1);
  });

  it.each([-7_200_000, 0])('by %i ms, a request without an answer times out', (shiftMs) => {
    const options = { ...{ maxInFlightRequests: 1, requestTimeout: 5000, logger: silent } };
    const settings = { ...options, enforceRequestTimeout: true, clientId: 'c', broker: 'b' };
    const queue = new RequestQueue({ ...settings, isConnected: () => true });
    let failure: Error | undefined;
    const reject = (error: Error): void => {
      failure = error;
    };
    const entry = { correlationId: 1, apiName: 'Fetch', resolve: () => undefined, reject };
    queue.scheduleRequestTimeoutCheck();
    queue.push({ entry, expectResponse: true, sendRequest: () => undefined });
    wallMs += shiftMs;
    pass(4900);
    expect(failure).toBeUndefined();
    pass(300);
    expect(failure?.name).toBe('KafkaJSRequestTimeoutError');
    queue.destroy();
  });
});
