import type { Socket } from 'node:net';
import { createRequire } from 'node:module';
import { afterRealMs, realEpochMs, realNowMs } from '#libs/clock';
import { Semaphore } from '#libs/delivery';

const require = createRequire(import.meta.url);

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

export type RequestQueueClass = new (options: never) => RequestQueue;

/** Sets no timer while no request waits: kafkajs sets one for a past time, and Node 24 warns (tulios/kafkajs#1751). */
export function withoutIdleTimers(Base: RequestQueueClass): RequestQueueClass {
  return class RequestQueue extends Base {
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length > 0) super.scheduleCheckPendingRequests();
    }
  };
}

/** A queue of requests, which sends none until its `throttledUntil`, epoch milliseconds. */
export type ThrottledQueueClass = new (options: never) => object;

/**
 * Keeps the end of a pause that a broker asked for by the monotonic clock. After the wall clock was set back, kafkajs
 * takes the end of any earlier pause for a coming one, and sends nothing on the connection until the clock is as late as before.
 */
export function withSteadyThrottle(Base: ThrottledQueueClass): ThrottledQueueClass {
  return class RequestQueue extends Base {
    private throttledUntilMs = -Infinity;

    get throttledUntil(): number {
      return realEpochMs() + this.throttledUntilMs - realNowMs();
    }

    set throttledUntil(epochMs: number) {
      this.throttledUntilMs = realNowMs() + epochMs - realEpochMs();
    }
  };
}

export type CreateSocketFactory = () => (options: never) => Socket;

/**
 * Unrefs a socket once. kafkajs closes a connection after each of its failures. For a destroyed socket, each `unref`
 * adds a listener for a connect that never comes: after ten, Node warns of a leak.
 */
export function unreferencedOnce(createFactory: CreateSocketFactory): CreateSocketFactory {
  return () => {
    const createSocket = createFactory();
    return (options) => {
      const socket = createSocket(options);
      let isUnreferenced = false;
      const unref = socket.unref.bind(socket);
      socket.unref = () => {
        if (isUnreferenced) return socket;
        isUnreferenced = true;
        return unref();
      };
      return socket;
    };
  };
}

/** kafkajs's 64-bit number. */
interface Long {
  toNumber(): number;
}

/** The part of kafkajs's connection to a broker that opens it and logs in. */
interface Connection {
  readonly host: string;
  readonly port: number;
  connect(): Promise<unknown>;
  isConnected(): boolean;
  readonly authenticatedAt: [seconds: number, nanoseconds: number] | null;
  /** Lifetime of the session in milliseconds; 0: unlimited. */
  readonly sessionLifetime: Long;
  readonly reauthenticationThreshold: number;
  isAuthenticated(): boolean;
  disconnect(): Promise<unknown>;
}

export type ConnectionClass = new (options: never) => Connection;

const AUTHENTICATE = 'private:Connection:authenticate';
const LONGEST_MARGIN_SHARE = 0.15;
/** The code of a broker's refusal of a second login on a connection, which is of the same type as that of a first. */
const RENEWED_TOO_SOON = { code: 'RENEWED_TOO_SOON' };

/**
 * Logs in again before a session of any length ends (KIP-368). kafkajs does so ten seconds before the end, which for
 * shorter sessions is before each request: brokers refuse a second login within a second. Closes a connection whose
 * login has failed: the broker expects the rest of that login, and would answer the next one with ILLEGAL_SASL_STATE.
 */
export function withSessions(Base: ConnectionClass): ConnectionClass {
  return class extends Base {
    constructor(options: never) {
      super(options);
      const members = this as unknown as Record<symbol, () => Promise<void>>;
      const symbol = Object.getOwnPropertySymbols(this).find(
        ({ description }) => description === AUTHENTICATE,
      );
      const authenticate = symbol && members[symbol];
      if (symbol === undefined || authenticate === undefined) {
        throw new Error('no such connection as in kafkajs 2.2.4');
      }
      members[symbol] = async () => {
        const isRenewal = this.authenticatedAt !== null;
        try {
          await authenticate();
        } catch (error) {
          await this.disconnect();
          const isRefused = (error as { type?: unknown }).type === 'ILLEGAL_SASL_STATE';
          if (isRefused && isRenewal) Object.assign(error as Error, RENEWED_TOO_SOON);
          throw error;
        }
      };
    }

    override isAuthenticated(): boolean {
      if (this.authenticatedAt === null) return false;
      const lifetimeMs = this.sessionLifetime.toNumber();
      if (lifetimeMs === 0) return true;
      const [seconds, nanoseconds] = process.hrtime(this.authenticatedAt);
      const marginMs = Math.min(this.reauthenticationThreshold, lifetimeMs * LONGEST_MARGIN_SHARE);
      return seconds * 1000 + nanoseconds / 1e6 < lifetimeMs - marginMs;
    }
  };
}

const MOST_OPENED_AT_ONCE = 20;
/** Limit of the time that an attempt delays others: kafkajs may never settle one that the broker ends during TLS. */
const LONGEST_TURN_MS = 1000;

/**
 * Opens at most twenty connections to a broker at a time. A broker lets 50 wait before it accepts them
 * (`socket.listen.backlog.size`), and the system retries each further one after a second. The bridge has a
 * transactional producer for each partition, and kafkajs connects all at once: every other start of the bridge took
 * that second.
 */
export function openedInTurn(Base: ConnectionClass): ConnectionClass {
  const turns = new Map<string, Semaphore>();
  const turnsAt = (address: string): Semaphore => {
    const known = turns.get(address) ?? new Semaphore(MOST_OPENED_AT_ONCE);
    turns.set(address, known);
    return known;
  };
  return class extends Base {
    private isWanted = false;

    override connect(): Promise<unknown> {
      if (this.isConnected()) return super.connect();
      this.isWanted = true;
      return new Promise((resolve, reject) => {
        void turnsAt(`${this.host}:${this.port}`).runTask(async () => {
          // Nothing would close it.
          if (!this.isWanted) reject(new Error('closed before it was opened'));
          else {
            const opening = super.connect();
            resolve(opening);
            await ended(opening, LONGEST_TURN_MS);
          }
        });
      });
    }

    override disconnect(): Promise<unknown> {
      this.isWanted = false;
      return super.disconnect();
    }
  };
}

/** Resolves when `work` has settled, after `mostMs` at the latest. */
function ended(work: Promise<unknown>, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = afterRealMs(mostMs, resolve);
    const end = (): void => {
      cancel();
      resolve();
    };
    work.then(end, end);
  });
}

interface PushedRequest {
  entry: { apiName: string };
  /** Null for the default time-out. */
  requestTimeout?: number | null;
}

interface TimingQueue {
  createSocketRequest(pushed: PushedRequest): { requestTimeout: number };
}

export type TimingQueueClass = new (options: never) => TimingQueue;

/**
 * Gives the first request to a bootstrap broker the time-out of a connection, as kafkajs intends; it gives it the
 * longer one of any request.
 */
export function withGreetingsInTime(Base: TimingQueueClass): TimingQueueClass {
  return class RequestQueue extends Base {
    override createSocketRequest(pushed: PushedRequest): { requestTimeout: number } {
      const request = super.createSocketRequest(pushed);
      const { entry, requestTimeout } = pushed;
      if (entry.apiName === 'ApiVersions')
        request.requestTimeout = requestTimeout ?? request.requestTimeout;
      return request;
    }
  };
}

interface ProduceRequest {
  topicData: readonly {
    partitions: readonly { messages: readonly { value?: Buffer | string | null }[] }[];
  }[];
}

/** kafkajs's produce requests, by version. */
export interface ProduceRequests {
  protocol: (of: {
    version: number;
  }) => (asked: ProduceRequest) => { request: unknown; response: unknown };
}

const LARGE_BYTES = 128 * 1024;
/** Slowest supported line: over a slower one, a megabyte does not fit into the 30 s of a transaction. */
const SLOWEST_BYTES_A_MS = 35;
/** Beyond it the transaction has timed out, and a silent broker would go unnoticed. */
const MAX_REQUEST_TIMEOUT_MS = 30_000;

/**
 * Gives a request with a large record the time that a slow line takes for it. kafkajs resends it after the time-out of
 * any request, behind itself on the same line, and ignores late answers: a record of 950 kB was never written over
 * 45 kB/s. Senders divide requests of many small records themselves.
 */
export function withTimeForLarge(requests: ProduceRequests): ProduceRequests {
  const protocol: ProduceRequests['protocol'] = (of) => {
    const create = requests.protocol(of);
    return (asked) => {
      const bytes = largestOf(asked);
      if (bytes < LARGE_BYTES) return create(asked);
      const timeoutMs = Math.min(Math.ceil(bytes / SLOWEST_BYTES_A_MS), MAX_REQUEST_TIMEOUT_MS);
      return { ...create(asked), requestTimeout: timeoutMs };
    };
  };
  return { ...requests, protocol };
}

function largestOf({ topicData }: ProduceRequest): number {
  let largest = 0;
  for (const { partitions } of topicData) {
    for (const { messages } of partitions) {
      for (const { value } of messages) largest = Math.max(largest, Buffer.byteLength(value ?? ''));
    }
  }
  return largest;
}

interface GreetedBroker {
  readonly connectionPool: { host: string; port: number };
  connect(): Promise<void>;
}

export type BrokerClass = new (options: never) => GreetedBroker;

/**
 * Treats a broker that accepts a connection but does not answer the first request or the login, as one that hangs,
 * like one that accepts none: kafkajs then tries the next, and otherwise retries the same for minutes. With one such
 * bootstrap broker of three, a starting bridge was not ready within three minutes.
 */
export function withSilentBrokersLeft(Base: BrokerClass): BrokerClass {
  const { KafkaJSConnectionError } = require('kafkajs/src/errors.js') as {
    KafkaJSConnectionError: new (message: string, about: { broker: string }) => Error;
  };
  return class Broker extends Base {
    override async connect(): Promise<void> {
      try {
        await super.connect();
      } catch (error) {
        if ((error as Error).name !== 'KafkaJSRequestTimeoutError') throw error;
        const { host, port } = this.connectionPool;
        throw new KafkaJSConnectionError('Connection timeout', { broker: `${host}:${port}` });
      }
    }
  };
}

/** Writes values in the binary form of Kafka's protocol. */
interface Encoder {
  writeArray(items: readonly string[]): this;
  writeBoolean(value: boolean): this;
}

interface MetadataRequest {
  encode: () => Promise<Encoder>;
}

/** Creates the request for the metadata of topics; kafkajs's asks for all topics if the list is empty. */
export type CreateMetadataRequest = (asked: {
  topics: readonly string[];
  allowAutoTopicCreation?: boolean;
}) => MetadataRequest;

interface MetadataPool {
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}

export type MetadataPoolClass = new (options: never) => MetadataPool;

/** Recognised by identity: kafkajs passes an empty list on as it is. */
const NO_TOPIC: readonly string[] = Object.freeze([]);

/**
 * Requests the brokers alone for a client without a topic, such as a producer that has sent nothing. kafkajs requests
 * all topics of the cluster with their partitions, and the bridge has a transactional producer for each of its
 * partitions. A client that lists all topics still gets them, as that request does not come from here.
 */
export function withBrokersAlone(Base: MetadataPoolClass): MetadataPoolClass {
  return class BrokerPool extends Base {
    override refreshMetadata(topics: readonly string[]): Promise<unknown> {
      return super.refreshMetadata(topics.length === 0 ? NO_TOPIC : topics);
    }
  };
}

/** Encodes a request for {@link NO_TOPIC} as one for no topic. */
export function asksForNoTopic(createRequest: CreateMetadataRequest): CreateMetadataRequest {
  const EncoderOfKafkajs = require('kafkajs/src/protocol/encoder.js') as new () => Encoder;
  return (asked) => {
    const request = createRequest(asked);
    if (asked.topics !== NO_TOPIC) return request;
    const { allowAutoTopicCreation = true } = asked;
    const encode = (): Encoder =>
      new EncoderOfKafkajs().writeArray([]).writeBoolean(allowAutoTopicCreation);
    return { ...request, encode: () => Promise.resolve(encode()) };
  };
}
