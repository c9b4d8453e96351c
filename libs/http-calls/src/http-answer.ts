import type { Exchange, HttpReply } from './exchange.js';
import { AnswerField, MalformedField } from './answer-field.js';

/** Entries that lack what they are identified by. */
export interface IncompleteEntries {
  count: number;
  /** What the first of them lacks, by its path in the answer and without any value. */
  why: string;
  /** IDs of the entries that have one. */
  ids: readonly string[];
}

/** The entries of a list that could be read. */
export interface ListEntries<T> {
  entries: T[];
  incomplete?: IncompleteEntries;
}

/** What a call came to. Every failure but the caller's own abort is one of these values. */
export type HttpAnswer<T> =
  | {
      kind: 'data';
      data: T;
      /** Entries that a list had beside those in `data`. */
      incomplete?: IncompleteEntries;
    }
  /** 204, or an empty reason list: the service has nothing to say. */
  | { kind: 'noData' }
  /** The request's own fault; sending it again will not help. `detail` is one line for a human. */
  | { kind: 'rejected'; status: number; detail: string }
  /** Worth repeating, not before `afterMs` (real milliseconds, from `Retry-After`) have passed. */
  | { kind: 'retry'; afterMs: number | null; error: HttpError }
  | Unauthorised;

/** The token is not accepted (401) or lacks the scope (403). */
export interface Unauthorised {
  kind: 'unauthorised';
  status: 401 | 403;
  /** Why there is no token, where the request was not even sent; one line without any secret. */
  why?: string;
}

/** One line for operators. */
export function describeUnauthorised({ status, why }: Unauthorised): string {
  if (why !== undefined) return `no access token: ${why}`;
  const fault = status === 401 ? 'the token is not accepted' : 'the token lacks the scope';
  return `the service answers ${status}: ${fault}`;
}

export type HttpErrorCode = 'timeout' | 'network' | 'http-status' | 'malformed-answer';

/** Why a call has to be repeated. Holds neither the access token nor any value from the answer. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  /** @param status HTTP status, where there was one */
  constructor(
    readonly code: HttpErrorCode,
    operation: string,
    problem: string,
    readonly status?: number,
  ) {
    super(`${operation}: ${problem}`);
  }
}

/** A page as a whole, perhaps behind a byte order mark, an XML declaration and comments. */
const WEB_PAGE =
  /^\uFEFF?\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->)[^])*-->\s*)*<(!doctype\s+html|html)(?=[\s/>[])/i;
/** What some gateways show of one. The root of an XML document may be called so. */
const PART_OF_PAGE =
  /^\uFEFF?\s*(<!--(?:(?!-->)[^])*-->\s*)*<(head|body|title|meta|script|style|h1)(?=[\s/>])/i;
/** Characters within which a page says what it is. */
const PAGE_HEAD = 2000;

/** Whether a body is a web page, whatever its content type says: where that is XML, a page as a whole. */
export function isWebPage(body: Buffer | string, contentType: string | null = null): boolean {
  const isText = typeof body === 'string';
  const head = isText ? body.slice(0, PAGE_HEAD) : body.toString('utf8', 0, PAGE_HEAD);
  const isXml = /\bxml\b/i.test(contentType ?? '');
  return WEB_PAGE.test(head) || (!isXml && PART_OF_PAGE.test(head));
}

/** What a 2xx means to an operation: a body to be read, or that the command was applied. */
export type SuccessMeaning<T> = (operation: string, reply: HttpReply) => HttpAnswer<T>;

/**
 * Turns what became of a request into the operation's answer.
 *
 * @param nowMs real epoch milliseconds, for a `Retry-After` date in an answer without `Date`
 */
export function toAnswer<T>(
  operation: string,
  exchange: Exchange,
  meaning: SuccessMeaning<T>,
  nowMs: number,
): HttpAnswer<T> {
  if (exchange.kind === 'failed') {
    const { code, why } = exchange;
    return repeat(new HttpError(code, operation, why));
  }
  const { status, headers } = exchange;
  if (status >= 200 && status < 300) return meaning(operation, exchange);
  if (status === 401 || status === 403) return { kind: 'unauthorised', status };
  if (FAULTS_OF_THE_REQUEST.has(status)) {
    const body = isCompressed(exchange) ? '' : exchange.body;
    return { kind: 'rejected', status, detail: describeRejection(status, body) };
  }
  const afterMs = readRetryAfter(headers, nowMs);
  const problem = `HTTP ${status}${redirected(status, headers.location)}${askingToWait(afterMs)}`;
  return repeat(new HttpError('http-status', operation, problem, status), afterMs);
}

/** A read: 204 is no data, any other success has a JSON body that `parse` understands. */
export function bodyRead<T>(parse: (answer: AnswerField) => T): SuccessMeaning<T> {
  return reading((answer) => ({ kind: 'data', data: parse(answer) }));
}

/** A read of a list, whose incomplete entries are left out. */
export function listRead<T>(parse: (answer: AnswerField) => ListEntries<T>): SuccessMeaning<T[]> {
  return reading((answer) => {
    const { entries, incomplete } = parse(answer);
    return { kind: 'data', data: entries, ...(incomplete && { incomplete }) };
  });
}

function reading<T>(read: (answer: AnswerField) => HttpAnswer<T>): SuccessMeaning<T> {
  return (operation, reply) => {
    const { status, bodyFault } = reply;
    if (NO_CONTENT.has(status)) return { kind: 'noData' };
    if (bodyFault) {
      const { code, why } = bodyFault;
      return repeat(new HttpError(code, operation, why, status));
    }
    try {
      if (isCompressed(reply)) throw new MalformedField('body', COMPRESSED);
      return read(new AnswerField(parseJson(reply.body)));
    } catch (error) {
      if (!(error instanceof MalformedField)) throw error;
      const problem = `malformed answer: ${error.message}`;
      return repeat(new HttpError('malformed-answer', operation, problem, status));
    }
  };
}

/**
 * A command: the interface does not show the body of its success, so the status alone counts, and any body will do but
 * a web page. That is what a gateway or a proxy shows, under maintenance for instance; its content type alone does not
 * decide, for web frameworks send a plain `OK` as text/html, too; but none compresses that, least of all for who asks
 * for no encoding.
 */
export const applied: SuccessMeaning<null> = (operation, reply) => {
  const { status, body, beginning } = reply;
  // A page that hangs or breaks off has no body.
  const head = body === '' ? (beginning ?? '') : body;
  if (!isCompressedPage(reply) && !isWebPage(head)) {
    return { kind: 'data', data: null };
  }
  const problem = `HTTP ${status} with a web page, which is none of the service's answers`;
  return repeat(new HttpError('malformed-answer', operation, problem, status));
};

function isCompressedPage(reply: HttpReply): boolean {
  return isCompressed(reply) && /^text\/html\b/i.test(reply.headers.contentType ?? '');
}

const COMPRESSED =
  'is compressed, and was asked for as it is: see what stands between the bridge and the service';

function isCompressed({ headers: { contentEncoding = '' } }: HttpReply): boolean {
  return !/^(identity)?$/i.test(contentEncoding);
}

function parseJson(body: string): unknown {
  if (body.trim() === '') throw new MalformedField('body', 'is empty');
  try {
    return JSON.parse(body);
  } catch {
    // the parser's own message quotes the body
    throw new MalformedField('body', 'is not JSON');
  }
}

function repeat(error: HttpError, afterMs: number | null = null): HttpAnswer<never> {
  return { kind: 'retry', afterMs, error };
}

/**
 * Statuses that mean a faulty request. Any other client error, and a redirect, may come from the path to the service (a
 * gateway, a proxy, a maintenance page, a method or path that is not served there) and may pass; a message must not be
 * given up for it.
 */
const FAULTS_OF_THE_REQUEST = new Set([400, 404, 409, 413, 415, 422]);
const NO_CONTENT = new Set([204, 205]);

const LONGEST_DETAIL = 300;
/** Where services commonly put the sentence; the interface does not show the shape of an error body. */
const SENTENCE_FIELDS = ['message', 'detail', 'error', 'reason', 'title'];

/** One printable line on why the service refused, from its status and error body; it becomes part of outcomes. */
function describeRejection(status: number, body: string): string {
  const line = (sentenceOf(body) ?? body).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  // half a surrogate pair is refused by many readers of JSON
  const sentence = line.replace(/\p{Cs}/gu, '\ufffd');
  return shorten(sentence === '' ? `HTTP ${status}` : `HTTP ${status}: ${sentence}`);
}

/**
 * A redirect is never followed, since the token would travel to another host. Of where it leads the host alone is told,
 * for the rest may hold what signs somebody in.
 */
function redirected(status: number, location = ''): string {
  if (status < 300 || status >= 400) return '';
  const to = URL.canParse(location) ? ` (to ${new URL(location).origin})` : '';
  return `: redirects are not followed${to}`;
}

/** What waits for longer than others are tried again seems to stand still. */
const WORTH_A_WORD_MS = 60_000;

function askingToWait(afterMs: number | null): string {
  return afterMs !== null && afterMs >= WORTH_A_WORD_MS
    ? `, with Retry-After of ${afterMs / 1000} s`
    : '';
}

function sentenceOf(body: string): string | undefined {
  try {
    const json: unknown = JSON.parse(body);
    if (typeof json === 'string') return json;
    if (typeof json !== 'object' || json === null) return undefined;
    const fields = json as Record<string, unknown>;
    return SENTENCE_FIELDS.map((name) => fields[name]).find((value) => typeof value === 'string');
  } catch {
    return undefined;
  }
}

function shorten(text: string): string {
  if (text.length <= LONGEST_DETAIL) return text;
  return `${text.slice(0, LONGEST_DETAIL - 1).replace(/\p{Cs}$/u, '')}…`;
}

/** A day. A larger figure is a mistake, and would overflow the timer that waits for it. */
const LONGEST_WAIT_MS = 86_400_000;

const SECONDS = /^\d+(\.\d+)?$/;
/** The three date forms of HTTP begin with a weekday; `Date.parse` alone would take "-5" for a date. */
const HTTP_DATE = /^[A-Za-z]{3,9},? /;

/**
 * Reads `Retry-After`, which is either seconds or an HTTP date.
 *
 * A date is compared with the answer's own `Date` when it has one, so that a difference between the
 * service's clock and ours does not matter.
 *
 * @param nowMs real epoch milliseconds, for an answer without `Date`
 * @returns real milliseconds to wait, 0 when the date has passed, null without a readable header
 */
export function readRetryAfter(
  headers: { retryAfter?: string | undefined; date?: string | undefined },
  nowMs: number,
): number | null {
  const value = headers.retryAfter?.trim() ?? '';
  if (SECONDS.test(value)) return boundWait(Number(value) * 1000);
  const until = parseHttpDate(value);
  if (until === null) return null;
  return boundWait(until - (parseHttpDate(headers.date ?? '') ?? nowMs));
}

/** Epoch milliseconds of an HTTP date in any of its three forms, else null. */
export function parseHttpDate(value: string): number | null {
  if (!HTTP_DATE.test(value)) return null;
  // the oldest of the three forms leaves the zone out and would be read as local time
  const time = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(time) ? null : time;
}

function boundWait(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), LONGEST_WAIT_MS);
}

/**
 * One request that services spell differently: sends the form that worked last and, when the
 * service does not know that one, each of the others once.
 */
export class RememberedForm<Form> {
  private forms: readonly Form[];

  /** @param forms the expected one first */
  constructor(
    forms: readonly Form[],
    private readonly isUnknownForm: (answer: HttpAnswer<unknown>) => boolean,
  ) {
    this.forms = [...new Set(forms)];
  }

  async call<T>(send: (form: Form) => Promise<HttpAnswer<T>>): Promise<HttpAnswer<T>> {
    let first: HttpAnswer<T> | undefined;
    for (const form of this.forms) {
      const answer = await send(form);
      if (!this.isUnknownForm(answer)) {
        if (understood(answer)) this.expect(form);
        return answer;
      }
      first ??= answer;
    }
    if (first === undefined) throw new Error('a request needs at least one form');
    return first;
  }

  get expected(): Form | undefined {
    return this.forms[0];
  }

  expect(form: Form): void {
    if (this.forms[0] === form) return;
    this.forms = [form, ...this.forms.filter((other) => other !== form)];
  }
}

const NOT_FOUND = 404;

/**
 * Any other failure says nothing about the form: a gateway answers so for any path. A 404 counts where it is not that
 * of an unknown form: it is about what was asked for.
 */
function understood(answer: HttpAnswer<unknown>): boolean {
  if (answer.kind === 'rejected') return answer.status === NOT_FOUND;
  return answer.kind === 'data' || answer.kind === 'noData';
}
