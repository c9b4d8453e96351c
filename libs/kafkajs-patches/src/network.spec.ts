import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { jest } from '@jest/globals';
import {
  type ConnectionClass,
  type CreateSocketFactory,
  openedInTurn,
  type ProduceRequests,
  type RequestQueueClass,
  unreferencedOnce,
  withoutIdleTimers,
  withSessions,
  withSteadyThrottle,
  withTimeForLarge,
} from './network.js';

const require = createRequire(import.meta.url);
const QueueOfKafkajs = require('kafkajs/src/network/requestQueue/index.js') as RequestQueueClass;

interface Queue {
  maybeThrottle(throttleMs: number): void;
  checkPendingRequests(): void;
  push(request: object): void;
  fulfillRequest(answer: object): void;
}

const silent = { debug: () => undefined, error: () => undefined, namespace: () => silent };

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

  it('sets no timer while no request waits, and sends waiting requests when it may', () => {
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

  it('has a timer for throttled requests', () => {
    const queue = queueOf(withoutIdleTimers(QueueOfKafkajs));
    queue.maybeThrottle(5000);
    queue.push(request(1));
    expect(sent).toEqual([]);
    expect(timersMs).toHaveLength(1);
  });

  it.each([-3_600_000, 0, 3_600_000])(
    'is throttled for as long as the broker asks for, though the clock is set by %i ms',
    (shiftMs) => {
      const Queue = withSteadyThrottle(QueueOfKafkajs);
      const queue = queueOf(Queue as unknown as RequestQueueClass);
      let [wallMs, monotonicMs] = [1_763_680_000_000, 1000];
      jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
      jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
      queue.push(request(1));
      queue.fulfillRequest(answer(1));
      queue.maybeThrottle(5000);
      wallMs += shiftMs;
      queue.push(request(2));
      expect(sent).toEqual([1]);
      wallMs += 5000;
      monotonicMs += 5000;
      queue.checkPendingRequests();
      expect(sent).toEqual([1, 2]);
    },
  );
});

const factoryOfKafkajs = require('kafkajs/src/network/socketFactory.js') as CreateSocketFactory;

describe('a destroyed socket whose connection is closed repeatedly', () => {
  let server: Server;

  beforeAll(async () => {
    server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => server.close());

  const listenersAfter = async (createFactory: CreateSocketFactory): Promise<number> => {
    const { port } = server.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, onConnect: () => undefined };
    const socket: Socket = createFactory()(options as never);
    await once(socket, 'connect');
    await once(socket.destroy(), 'close');
    socket.setMaxListeners(0);
    for (let close = 0; close < 20; close += 1) socket.unref();
    return socket.listenerCount('connect');
  };

  it('gets one listener', async () => {
    expect(await listenersAfter(unreferencedOnce(factoryOfKafkajs))).toBe(1);
  });
});

const ConnectionOfKafkajs = require('kafkajs/src/network/connection.js') as ConnectionClass;
const Long = require('kafkajs/src/utils/long.js') as { fromValue: (ms: number) => object };

describe('a login with a limited session', () => {
  /** Of a connection that has been logged in on for so long. */
  const isLoggedIn = (Class: ConnectionClass, ageMs: number, lifetimeMs: number): boolean => {
    const connection = new Class({ logger: silent } as never);
    const [seconds, nanoseconds] = process.hrtime();
    const authenticatedAt = [seconds - ageMs / 1000, nanoseconds];
    Object.assign(connection, { authenticatedAt, sessionLifetime: Long.fromValue(lifetimeMs) });
    return connection.isAuthenticated();
  };

  it('is repeated shortly before its end', () => {
    const Class = withSessions(ConnectionOfKafkajs);
    expect(isLoggedIn(Class, 0, 3000)).toBe(true);
    expect(isLoggedIn(Class, 2000, 3000)).toBe(true);
    expect(isLoggedIn(Class, 3000, 3000)).toBe(false);
    expect(isLoggedIn(Class, 8000, 10_000)).toBe(true);
    expect(isLoggedIn(Class, 9000, 10_000)).toBe(false);
    expect(isLoggedIn(Class, 3_588_000, 3_600_000)).toBe(true);
    expect(isLoggedIn(Class, 3_591_000, 3_600_000)).toBe(false);
    // without an end
    expect(isLoggedIn(Class, 100_000_000, 0)).toBe(true);
  });

  it('tells a login that is repeated too soon from one that the port does not know', async () => {
    const Class = withSessions(ConnectionOfKafkajs);
    const codeAfter = async (authenticatedAt: unknown): Promise<unknown> => {
      const connection = new Class({ logger: silent, sasl: { mechanism: 'plain' } } as never);
      const refusal = Object.assign(new Error('refused'), { type: 'ILLEGAL_SASL_STATE', code: 34 });
      const versions = { 17: { minVersion: 1, maxVersion: 1 } };
      const send = (): Promise<never> => Promise.reject(refusal);
      const sessionLifetime = Long.fromValue(1000);
      Object.assign(connection, { versions, send, authenticatedAt, sessionLifetime });
      const [logIn] = Object.getOwnPropertySymbols(connection).map(
        (symbol) => Reflect.get(connection, symbol) as () => Promise<void>,
      );
      return logIn?.().catch((error: unknown) => Reflect.get(error as object, 'code') as unknown);
    };
    expect(await codeAfter(null)).toBe(34);
    const [seconds, nanoseconds] = process.hrtime();
    expect(await codeAfter([seconds - 1, nanoseconds])).toBe('RENEWED_TOO_SOON');
  });
});

describe('connections to a broker', () => {
  /** What each attempt is answered by: the host, and the end of the attempt. */
  let opening: { host: string; onConnect: () => void }[];
  let all: { connection: { disconnect(): Promise<unknown> }; connected: Promise<unknown> }[];

  const socketFactory = (attempt: (typeof opening)[number]): Socket => {
    opening.push(attempt);
    return new Socket();
  };
  const openMany = (Class: ConnectionClass, count: number, host: string): void => {
    for (let number = 1; number <= count; number += 1) {
      const options = {
        host,
        port: 9092,
        logger: silent,
        socketFactory,
        connectionTimeout: 60_000,
        requestTimeout: 60_000,
      };
      const connection = new Class(options as never);
      const connected = connection.connect();
      connected.catch(() => undefined);
      all.push({ connection, connected });
    }
  };
  const openedAt = (host: string): number => opening.filter((one) => one.host === host).length;

  beforeEach(() => {
    [opening, all] = [[], []];
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  });
  afterEach(async () => {
    jest.useRealTimers();
    const closeAll = () => Promise.all(all.map(({ connection }) => connection.disconnect()));
    await closeAll();
    // kafkajs keeps the timer of an attempt until it has ended
    for (const { onConnect } of opening) onConnect();
    await closeAll();
  });

  it('are opened twenty at a time, independently of other brokers', async () => {
    const Class = openedInTurn(ConnectionOfKafkajs);
    openMany(Class, 45, 'a');
    openMany(Class, 1, 'b');
    await new Promise(setImmediate);
    expect([openedAt('a'), openedAt('b')]).toEqual([20, 1]);

    for (const { onConnect } of opening.slice(0, 5)) onConnect();
    await Promise.all(all.slice(0, 5).map(({ connected }) => connected));
    await new Promise(setImmediate);
    expect(openedAt('a')).toBe(25);
  });

  it('give up their turn after a second', async () => {
    openMany(openedInTurn(ConnectionOfKafkajs), 45, 'a');
    await jest.advanceTimersByTimeAsync(1000);
    expect(openedAt('a')).toBe(40);
  });

  it('are not opened once they are closed', async () => {
    openMany(openedInTurn(ConnectionOfKafkajs), 22, 'a');
    await all[20]?.connection.disconnect();
    await jest.advanceTimersByTimeAsync(1000);
    expect(openedAt('a')).toBe(21);
    await expect(all[20]?.connected).rejects.toThrow('closed before it was opened');
  });
});

describe('a request that hands records over', () => {
  const requests = withTimeForLarge(
    require('kafkajs/src/protocol/requests/produce/index.js') as ProduceRequests,
  );
  const create = requests.protocol({ version: 7 });
  const timeoutMsWith = (...bytes: number[]): unknown => {
    const messages = bytes.map((length) => ({ value: Buffer.alloc(length) }));
    return Reflect.get(create({ topicData: [{ partitions: [{ messages }] }] }), 'requestTimeout');
  };

  it('has the time that a slow line takes for the largest of them', () => {
    expect(timeoutMsWith(10, 950_000, 10)).toBe(27_143);
    expect(timeoutMsWith(48 * 1024 * 1024)).toBe(30_000);
    expect(timeoutMsWith(...Array.from({ length: 1000 }, () => 1000))).toBeUndefined();
    expect(Reflect.get(create({ topicData: [] }), 'request')).toMatchObject({ apiName: 'Produce' });
  });
});
