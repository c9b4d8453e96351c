import type { Socket } from 'node:net';
import { createRequire } from 'node:module';
import { afterRealMs } from '#libs/clock';
import { Semaphore } from '#libs/delivery';

const require = createRequire(import.meta.url);

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

export type RequestQueueClass = new (options: never) => RequestQueue;

/** Sets no timer where no request waits: kafkajs sets one for a past time, of which Node 24 warns (tulios/kafkajs#1751). */
export function withoutIdleTimers(Base: RequestQueueClass): RequestQueueClass {
  return class RequestQueue extends Base {
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length > 0) super.scheduleCheckPendingRequests();
    }
  };
}

export type CreateSocketFactory = () => (options: never) => Socket;

/**
 * Unrefs a socket once. kafkajs closes a connection as often as something fails on it. Of a socket that is gone, Node
 * keeps each time a listener for when it connects, which never comes: after ten it warns of a leak.
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

/** kafkajs's number of 64 bits. */
interface Long {
  toNumber(): number;
}

/** As much of kafkajs's connection to a broker as decides when it is opened, and when it logs in. */
interface Connection {
  readonly host: string;
  readonly port: number;
  connect(): Promise<unknown>;
  isConnected(): boolean;
  readonly authenticatedAt: [seconds: number, nanoseconds: number] | null;
  /** Milliseconds that the broker gives the login; 0: no end. */
  readonly sessionLifetime: Long;
  readonly reauthenticationThreshold: number;
  isAuthenticated(): boolean;
  disconnect(): Promise<unknown>;
}

export type ConnectionClass = new (options: never) => Connection;

const AUTHENTICATE = 'private:Connection:authenticate';
const LONGEST_MARGIN_SHARE = 0.15;

/**
 * Logs in again before a session of any length ends (KIP-368). kafkajs does so ten seconds before its end, which is
 * before each request where a session is shorter: brokers refuse a second login within a second. A connection whose
 * login has failed is closed: the broker expects the rest of that login, and would answer the next one with
 * ILLEGAL_SASL_STATE.
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
        try {
          await authenticate();
        } catch (error) {
          await this.disconnect();
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
/** An attempt delays the others no longer than this: kafkajs may never settle one that the broker ends during TLS. */
const LONGEST_TURN_MS = 1000;

/**
 * Opens no more than twenty connections to a broker at a time. A broker lets 50 wait that it has not accepted yet
 * (`socket.listen.backlog.size`), and the system tries each that comes on top again after a second. With a producer of
 * transactions for each partition, which kafkajs all connects at once, every other start of the bridge took that
 * second.
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
        void turnsAt(`${this.host}:${this.port}`).run(async () => {
          // nobody would close it
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

/** Resolves when it has come to an end of any kind, after so long at the latest. */
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
  /** Null where it has the time of any request. */
  requestTimeout?: number | null;
}

interface TimingQueue {
  createSocketRequest(pushed: PushedRequest): { requestTimeout: number };
}

export type TimingQueueClass = new (options: never) => TimingQueue;

/**
 * Gives the first request to a bootstrap broker the time of a connection, as kafkajs means to; it gives it that of any
 * request, which is longer.
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

interface GreetedBroker {
  readonly connectionPool: { host: string; port: number };
  connect(): Promise<void>;
}

export type BrokerClass = new (options: never) => GreetedBroker;

/**
 * Takes a broker that takes a connection and is silent while it greets or logs in, as one that hangs, for one that takes
 * none: kafkajs then turns to the next, and otherwise tries it for minutes. With one such bootstrap broker of three a
 * bridge that started was not ready within three minutes.
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

/** Makes the request for the metadata of topics; of an empty list kafkajs makes one for all topics. */
export type CreateMetadataRequest = (asked: {
  topics: readonly string[];
  allowAutoTopicCreation?: boolean;
}) => MetadataRequest;

interface MetadataPool {
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}

export type MetadataPoolClass = new (options: never) => MetadataPool;

/** Known by its identity: kafkajs passes an empty list on as it is. */
const NO_TOPIC: readonly string[] = Object.freeze([]);

/**
 * Asks for the brokers alone where a client has no topic yet, as a producer that has sent nothing. kafkajs asks for all
 * topics of the cluster with their partitions, and a bridge has a transactional producer for each partition that it
 * owns. A client that asks for all topics by itself, to list them, still gets them: it does not take them from here.
 */
export function withBrokersAlone(Base: MetadataPoolClass): MetadataPoolClass {
  return class BrokerPool extends Base {
    override refreshMetadata(topics: readonly string[]): Promise<unknown> {
      return super.refreshMetadata(topics.length === 0 ? NO_TOPIC : topics);
    }
  };
}

/** Makes a request for no topic as such. */
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
