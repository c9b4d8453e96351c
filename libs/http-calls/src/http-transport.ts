import { TextDecoder } from 'node:util';
import { Axios, type AxiosAdapter, AxiosHeaders, type AxiosRequestConfig } from 'axios';
import { type Dispatcher, Pool } from 'undici';
import { realNowMs, TIMED_OUT, withTimeout } from '#libs/clock';
import type { ProxySettings } from '#libs/config';
import { LONGEST_USE_MS, resettingConnector } from './connections.js';

/** Lets the caller cancel a call, or object before it is sent. */
export interface HttpCaller {
  /** Cancels the call, which rejects with its reason. */
  readonly signal: AbortSignal | undefined;
  /**
   * Called right before the request is written, however long it has waited for its turn, a token or a connection: the
   * process may have been suspended meanwhile. If it returns an error, nothing is sent and the call rejects with it.
   * Without it test/chaos/group.chaos-spec.ts fails: a process that was suspended while connections were opening
   * sends the requests that waited for them.
   */
  readonly objection?: () => Error | undefined;
}

/** Names and values in turn, as undici takes them. */
export type HeaderList = string[];

export const ASKED_FOR: Readonly<HeaderList> = [
  ...['accept', 'application/json'],
  ...['accept-encoding', 'identity'],
];

export interface HttpRequest {
  /** Name under which metrics count the request. */
  operation: string;
  method: 'GET' | 'POST' | 'PUT';
  /** From the root of the host, with its query. */
  path: string;
  headers: HeaderList;
  body: string | null;
  /** Removed from an error body that echoes it. */
  token?: string;
  /** Replaces the transport's limit. */
  maxAnswerBytes?: number | undefined;
  /** Whether the answer's body is returned as bytes, in {@link HttpReply.chunks}. */
  isBinary?: boolean;
}

export interface HttpReply {
  kind: 'reply';
  status: number;
  headers: Partial<
    Record<
      'retryAfter' | 'date' | 'contentType' | 'contentEncoding' | 'location',
      string | undefined
    >
  >;
  /** Empty when `bodyFault` is set. */
  body: string;
  /** The body of a binary request, which has none in `body`. */
  chunks?: Buffer[] | undefined;
  /** The first chunk of the body; after a fault, all that may be known of it. */
  beginning: Buffer | undefined;
  /** The status arrived but the body did not: the connection broke, time was up, or it was larger than allowed. */
  bodyFault?: { code: 'network' | 'timeout' | 'malformed-answer'; why: string };
}

/** A failure is kept as text: an HTTP library's own error contains the request's headers. */
export type Exchange = HttpReply | { kind: 'failed'; code: 'timeout' | 'network'; why: string };

/** How a request ended: its status, or why it has none. */
export type RequestStatus = number | 'timeout' | 'network' | 'aborted';

/** Takes the real seconds of every request, without the wait for a token or a turn: a histogram. Must not throw. */
export interface CallDurations {
  observe(labels: { operation: string; status: RequestStatus }, seconds: number): void;
}

export interface HttpTransportOptions {
  origin: string;
  maxConnections: number;
  /** From sending a request to the end of the answer's body, in real milliseconds. */
  timeoutMs: number;
  /** A larger answer is not read to its end, unless its request allows for it. */
  maxAnswerBytes: number;
  /** Used for https only. */
  proxy: ProxySettings | undefined;
  /** Trusted in place of the system's certificates, in PEM. */
  ca?: string | undefined;
  /** Default none. Logins count like calls. */
  durations?: CallDurations | undefined;
}

/** Sends requests over kept-alive connections, each with a deadline; every failure is a value. */
export class HttpTransport {
  private readonly pool: Pool;
  private readonly http: Axios;

  constructor(private readonly options: HttpTransportOptions) {
    this.pool = new Pool(options.origin, {
      connections: options.maxConnections,
      connect: resettingConnector(options.timeoutMs, options.proxy, options.ca),
      // these two watch for inactivity; the caller's deadline covers the whole call
      headersTimeout: 0,
      bodyTimeout: 0,
      // idle time, whatever the server allows
      keepAliveMaxTimeout: LONGEST_USE_MS,
    });
    // Unlike create() this takes none of axios's defaults, which it would merge and validate for every call.
    this.http = new Axios({ adapter: undiciAdapter(this.pool) });
  }

  /** @throws the reason of the caller's signal when that aborts, or the caller's objection; nothing else */
  async exchange(
    request: HttpRequest,
    caller?: HttpCaller,
    span?: { endSpan(status: RequestStatus): void },
  ): Promise<Exchange> {
    const { timeoutMs, durations } = this.options;
    const { maxAnswerBytes = this.options.maxAnswerBytes } = request;
    const startedMs = realNowMs();
    let status: RequestStatus = 'aborted';
    const answer = new Answer(request, maxAnswerBytes, caller?.objection);
    try {
      const sending = (): Promise<Exchange> => this.send(answer);
      const sent = await withTimeout(timeoutMs, caller?.signal, sending, answer.giveUp);
      if (answer.objected !== undefined) throw answer.objected;
      const exchange = sent === TIMED_OUT ? tooLate(timeoutMs, answer.reply) : sent;
      status = exchange.kind === 'reply' ? exchange.status : exchange.code;
      return exchange;
    } finally {
      const { operation } = request;
      durations?.observe({ operation, status }, (realNowMs() - startedMs) / 1000);
      span?.endSpan(status);
    }
  }

  private async send(answer: Answer): Promise<Exchange> {
    const { token } = answer.request;
    const config: AnswerConfig = { answer };
    const { data } = await this.http.request<Exchange>(config);
    if (data.kind === 'failed' || data.status < 300 || token === undefined) return data;
    return { ...data, body: redactToken(data.body, token) };
  }

  /** Waits for requests in flight, then closes every connection. */
  async drainConnections(): Promise<void> {
    await this.pool.close();
  }

  /** Closes every connection; requests in flight fail. */
  async destroyConnections(): Promise<void> {
    await this.pool.destroy();
  }
}

/** Keeps an arrived status although the body hangs: for a command the status is the whole answer. */
function tooLate(timeoutMs: number, arrived: HttpReply | undefined): Exchange {
  const why = `no ${arrived ? 'whole ' : ''}answer in ${timeoutMs} ms`;
  if (arrived === undefined) return { kind: 'failed', code: 'timeout', why };
  return { ...arrived, body: '', bodyFault: { code: 'timeout', why } };
}

/**
 * Configuration of an axios request. For each call, axios copies, normalises and checks every field and header that
 * it knows, and plain objects in other fields, which costs more than sending the request.
 */
interface AnswerConfig extends AxiosRequestConfig {
  answer: Answer;
}

const TOO_LARGE = 'ANSWER_TOO_LARGE';

/** Headers given to axios, which would copy an answer's one by one; the reply has those that matter. */
const UNSEEN = new AxiosHeaders();
/** Removes a byte order mark, unlike a buffer's toString(). */
const utf8 = new TextDecoder();
const MORE_TO_COME = { stream: true };

/**
 * Lets axios send through an undici pool: several times the throughput of its own HTTP adapter at the bridge's
 * concurrency. It follows no redirects.
 *
 * `config.answer` has the request; `data` of axios's response is the {@link Exchange}. Never rejects.
 */
function undiciAdapter(pool: Dispatcher): AxiosAdapter {
  return (config) =>
    new Promise((resolve) => {
      const { answer } = config as typeof config & AnswerConfig;
      answer.resolve = (data) => {
        resolve({ data, status: 0, statusText: '', headers: UNSEEN, config });
      };
      pool.dispatch(answer.request, answer);
    });
}

/** One request and its answer, without the stream that undici would otherwise create for it. */
class Answer implements Dispatcher.DispatchHandler {
  /** Set once the status has arrived: the call may be given up before the body has. */
  reply: HttpReply | undefined;
  /** The caller's objection, because of which the request was not sent. */
  objected: Error | undefined;
  resolve: (data: Exchange) => void = () => undefined;
  /** That of the last attempt, if the request is repeated on another connection. */
  private controller: Dispatcher.DispatchController | undefined;
  private isGivenUp = false;
  private bytes = 0;
  private first: Buffer | undefined;
  /** Decoded part of an answer of several chunks: a list of machines may be 15 MB, which need not be kept twice. */
  private text: { decoder: TextDecoder; decoded: string } | undefined;

  constructor(
    readonly request: HttpRequest,
    private readonly maxAnswerBytes: number,
    private readonly objection: HttpCaller['objection'],
  ) {}

  readonly giveUp = (): void => {
    this.isGivenUp = true;
    this.controller?.abort(new Error('aborted'));
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    // the request may have waited for a connection; it is written in this turn of the event loop
    if (!this.isGivenUp) this.objected = this.objection?.();
    if (this.isGivenUp || this.objected !== undefined) this.giveUp();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Informational answers come before the final one.
    if (status < 200) return;
    this.reply = {
      kind: 'reply',
      status,
      headers: {
        retryAfter: firstValue(headers['retry-after']),
        date: firstValue(headers['date']),
        contentType: firstValue(headers['content-type']),
        contentEncoding: firstValue(headers['content-encoding']),
        location: firstValue(headers['location']),
      },
      body: '',
      beginning: undefined,
      chunks: this.request.isBinary === true ? [] : undefined,
    };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxAnswerBytes } = this;
    this.bytes += chunk.length;
    if (this.bytes > maxAnswerBytes) {
      const error = new Error(`the answer has more than ${maxAnswerBytes} bytes`);
      controller.abort(Object.assign(error, { code: TOO_LARGE }));
      return;
    }
    const chunks = this.reply?.chunks;
    if (chunks !== undefined) {
      chunks.push(chunk);
      return;
    }
    if (this.first === undefined) {
      this.first = chunk;
      if (this.reply !== undefined) this.reply.beginning = chunk;
      return;
    }
    if (this.text === undefined) {
      const decoder = new TextDecoder();
      this.text = { decoder, decoded: decoder.decode(this.first, MORE_TO_COME) };
    }
    this.text.decoded += this.text.decoder.decode(chunk, MORE_TO_COME);
  }

  onResponseEnd(): void {
    const { reply } = this;
    if (reply === undefined) return;
    if (this.text !== undefined) reply.body = this.text.decoded + this.text.decoder.decode();
    else if (this.first !== undefined) reply.body = utf8.decode(this.first);
    this.resolve(reply);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const { code = 'ERR_NETWORK', message } = error as NodeJS.ErrnoException;
    const why = describeFault(code, message);
    const { reply } = this;
    if (reply !== undefined) {
      const fault = code === TOO_LARGE ? 'malformed-answer' : 'network';
      this.resolve({ ...reply, bodyFault: { code: fault, why } });
      return;
    }
    const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'network';
    this.resolve({ kind: 'failed', code: kind, why });
  }
}

const UNTRUSTED =
  /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|(DEPTH_ZERO_)?SELF_SIGNED_CERT(_IN_CHAIN)?)$/;

function describeFault(code: string, message: string): string {
  if (UNTRUSTED.test(code)) return `${message}: see NODE_EXTRA_CA_CERTS`;
  // OpenSSL's message helps its authors only
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return `no TLS is spoken there (${code})`;
  if (code.startsWith('ERR_SSL_')) return `TLS fails (${code})`;
  // connecting to a name with several addresses fails with an AggregateError without a message
  return message || code;
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

const REDACTED = '***';
/** A longer body is no sentence about a fault. */
const LONGEST_BODY = 256 * 1024;
/** Shorter runs of alphanumeric characters would be found in ordinary words. */
const FRAGMENT_LENGTH = 8;

/**
 * An error body without the token: a service may echo the request, and the body ends up in logs and dead letters.
 * The token itself is replaced. Alphanumeric characters stay as they are in JSON, URLs and HTML, so an escaped or
 * shortened echo still holds the beginning or the end of one of the token's alphanumeric runs: such a body is dropped.
 * So is one that has it in base64.
 */
function redactToken(body: string, token: string): string {
  if (body.length > LONGEST_BODY) return '';
  if (token === '') return body;
  const redacted = body.replaceAll(token, REDACTED);
  const fragments = [...fragmentsOf(token), ...base64FragmentsOf(token)];
  return fragments.some((fragment) => redacted.includes(fragment)) ? '' : redacted;
}

/** Text before the token shifts its bytes within the groups of three that are encoded together. */
function base64FragmentsOf(token: string): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.from(token).subarray(shift);
    const encoded = [bytes.toString('base64'), bytes.toString('base64url')];
    return encoded
      .map((text) => text.slice(0, FRAGMENT_LENGTH))
      .filter((text) => text.length === FRAGMENT_LENGTH);
  });
}

function fragmentsOf(token: string): string[] {
  const runs = token.split(/[^A-Za-z0-9]+/).filter(({ length }) => length >= FRAGMENT_LENGTH);
  // A token without such a run is short, or mostly punctuation: its longest run is used.
  if (runs.length === 0) return longestRun(token);
  return runs.flatMap((run) => [run.slice(0, FRAGMENT_LENGTH), run.slice(-FRAGMENT_LENGTH)]);
}

function longestRun(token: string): string[] {
  const runs = token.split(/[^A-Za-z0-9]+/).sort((one, other) => other.length - one.length);
  return runs.slice(0, 1).filter(({ length }) => length >= 4);
}
