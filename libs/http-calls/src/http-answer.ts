import { isJsonObject } from '#libs/contracts';
import type { Exchange, HttpReply } from './http-transport.js';
import { AnswerField, MalformedField } from './answer-field.js';

/** Entries of a list that cannot be read, for example without an id. */
export interface IncompleteEntries {
  count: number;
  /** Fault of the first of them, by its path in the answer and without any value. */
  why: string;
  /** IDs of the entries that have one. */
  ids: readonly string[];
}

/** The entries of a list that could be read. */
export interface ListEntries<T> {
  entries: T[];
  incomplete?: IncompleteEntries;
}

/** Result of a call. Every failure but the caller's own abort is one of these values. */
export type HttpAnswer<T> =
  | {
      kind: 'data';
      data: T;
      /** Entries of the list that are not in `data`. */
      incomplete?: IncompleteEntries;
    }
  /** 204, or an empty reason list. */
  | { kind: 'noData' }
  /** The request is at fault; sending it again will not help. `detail` is one line for people. */
  | { kind: 'rejected'; status: number; detail: string }
  /** To be repeated, not before `afterMs` (real milliseconds, from `Retry-After`) have passed. */
  | { kind: 'retry'; afterMs: number | null; error: HttpError }
  | Unauthorised;

/** The token is not accepted (401) or lacks the scope (403). */
export interface Unauthorised {
  kind: 'unauthorised';
  status: 401 | 403;
  /** Why there is no token, if the request was not sent; one line without any secret. */
  why?: string;
}

/** Describes the refusal in one line for operators. */
export function describeUnauthorised({ status, why }: Unauthorised): string {
  if (why !== undefined) return `no access token: ${why}`;
  const fault = status === 401 ? 'the token is not accepted' : 'the token lacks the scope';
  return `the service answers ${status}: ${fault}`;
}

type HttpErrorCode = 'timeout' | 'network' | 'http-status' | 'malformed-answer';

/** Why a call has to be repeated. Contains neither the access token nor any value from the answer. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  /** @param status HTTP status, if there was one */
  constructor(
    readonly code: HttpErrorCode,
    operation: string,
    problem: string,
    readonly status?: number,
  ) {
    super(`${operation}: ${problem}`);
  }
}

/** A whole page, perhaps after a byte order mark, an XML declaration and comments. */
const WEB_PAGE =
  /^\uFEFF?\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->)[^])*-->\s*)*<(!doctype\s+html|html)(?=[\s/>[])/i;
/** Part of a page, as some gateways send it. The root of an XML document may have such a name. */
const PART_OF_PAGE =
  /^\uFEFF?\s*(<!--(?:(?!-->)[^])*-->\s*)*<(head|body|title|meta|script|style|h1)(?=[\s/>])/i;
/** Characters within which a page can be recognised. */
const PAGE_HEAD = 2000;

/** Whether a body is a web page, whatever its content type. If that is XML, only a whole page counts. */
export function isWebPage(body: Buffer | string, contentType: string | null = null): boolean {
  const isText = typeof body === 'string';
  const head = isText ? body.slice(0, PAGE_HEAD) : body.toString('utf8', 0, PAGE_HEAD);
  const isXml = /\bxml\b/i.test(contentType ?? '');
  return WEB_PAGE.test(head) || (!isXml && PART_OF_PAGE.test(head));
}

/** Meaning of a 2xx for an operation: a body to be read, or that the command was applied. */
export type SuccessMeaning<T> = (operation: string, reply: HttpReply) => HttpAnswer<T>;

/**
 * Turns the exchange of a request into the operation's answer.
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
    return retryAnswer(new HttpError(code, operation, why));
  }
  const { status, headers } = exchange;
  if (status >= 200 && status < 300) return meaning(operation, exchange);
  if (status === 401 || status === 403) return { kind: 'unauthorised', status };
  if (FAULTS_OF_THE_REQUEST.has(status)) {
    const body = isCompressed(exchange) ? '' : exchange.body;
    return { kind: 'rejected', status, detail: describeRejection(status, body) };
  }
  const afterMs = readRetryAfter(headers, nowMs);
  const problem = `HTTP ${status}${describeRedirect(status, headers.location)}${describeWait(afterMs)}`;
  return retryAnswer(new HttpError('http-status', operation, problem, status), afterMs);
}

/** A read: 204 is no data, any other success has a JSON body that `parse` understands. */
export function bodyRead<T>(parse: (answer: AnswerField) => T): SuccessMeaning<T> {
  return parsedAnswer((answer) => ({ kind: 'data', data: parse(answer) }));
}

/** A read of a list, whose incomplete entries are left out. */
export function listRead<T>(parse: (answer: AnswerField) => ListEntries<T>): SuccessMeaning<T[]> {
  return parsedAnswer((answer) => {
    const { entries, incomplete } = parse(answer);
    return { kind: 'data', data: entries, ...(incomplete && { incomplete }) };
  });
}

function parsedAnswer<T>(read: (answer: AnswerField) => HttpAnswer<T>): SuccessMeaning<T> {
  return (operation, reply) => {
    const { status, bodyFault } = reply;
    if (NO_CONTENT.has(status)) return { kind: 'noData' };
    if (bodyFault) {
      const { code, why } = bodyFault;
      return retryAnswer(new HttpError(code, operation, why, status));
    }
    try {
      if (isCompressed(reply)) throw new MalformedField('body', COMPRESSED);
      return read(new AnswerField(parseJson(reply.body)));
    } catch (error) {
      if (!(error instanceof MalformedField)) throw error;
      const problem = `malformed answer: ${error.message}`;
      return retryAnswer(new HttpError('malformed-answer', operation, problem, status));
    }
  };
}

/**
 * Success of a command: the interface does not define its body, so that any body counts but a web page, which a
 * gateway or proxy sends, during maintenance for instance. The content type alone does not decide, since web
 * frameworks send a plain `OK` as text/html, too; but none compresses that, least of all for a client that asks for
 * no encoding.
 */
export const applied: SuccessMeaning<null> = (operation, reply) => {
  const { status, body, beginning } = reply;
  // The `body` of a page that hangs or breaks off is empty.
  const head = body === '' ? (beginning ?? '') : body;
  if (!isCompressedPage(reply) && !isWebPage(head)) {
    return { kind: 'data', data: null };
  }
  const problem = `HTTP ${status} with a web page, which is none of the service's answers`;
  return retryAnswer(new HttpError('malformed-answer', operation, problem, status));
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

function retryAnswer(error: HttpError, afterMs: number | null = null): HttpAnswer<never> {
  return { kind: 'retry', afterMs, error };
}

/**
 * Statuses that mean a faulty request. Any other client error, and a redirect, may come from the path to the service
 * (a gateway, a proxy, a maintenance page, a method or path that is not served there) and may be temporary; no
 * message may be rejected for it.
 */
const FAULTS_OF_THE_REQUEST = new Set([400, 404, 409, 413, 415, 422]);
const NO_CONTENT = new Set([204, 205]);

const LONGEST_DETAIL = 300;
/** Fields in which services commonly put a sentence; the interface does not define error bodies. */
const SENTENCE_FIELDS = ['message', 'detail', 'error', 'reason', 'title'];

/** One printable line on why the service refused, from its status and error body; it becomes part of outcomes. */
function describeRejection(status: number, body: string): string {
  const line = (sentenceOf(body) ?? body).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  // half a surrogate pair is refused by many readers of JSON
  const sentence = line.replace(/\p{Cs}/gu, '\ufffd');
  return shorten(sentence === '' ? `HTTP ${status}` : `HTTP ${status}: ${sentence}`);
}

/**
 * A redirect is never followed, since the token would travel to another host. Only the target's origin is shown,
 * since the rest may contain credentials.
 */
function describeRedirect(status: number, location = ''): string {
  if (status < 300 || status >= 400) return '';
  const to = URL.canParse(location) ? ` (to ${new URL(location).origin})` : '';
  return `: redirects are not followed${to}`;
}

/** A wait longer than any back-off looks like a standstill, so that it is mentioned. */
const WORTH_A_WORD_MS = 60_000;

function describeWait(afterMs: number | null): string {
  return afterMs !== null && afterMs >= WORTH_A_WORD_MS
    ? `, with Retry-After of ${afterMs / 1000} s`
    : '';
}

function sentenceOf(body: string): string | undefined {
  try {
    const json: unknown = JSON.parse(body);
    if (typeof json === 'string') return json;
    if (!isJsonObject(json)) return undefined;
    return SENTENCE_FIELDS.map((name) => json[name]).find((value) => typeof value === 'string');
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
 * A request that services spell differently: sends the form that worked last and, if the service does not know it,
 * each of the others once.
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

  async callWithForm<T>(send: (form: Form) => Promise<HttpAnswer<T>>): Promise<HttpAnswer<T>> {
    let first: HttpAnswer<T> | undefined;
    for (const form of this.forms) {
      const answer = await send(form);
      if (!this.isUnknownForm(answer)) {
        if (confirmsForm(answer)) this.expectForm(form);
        return answer;
      }
      first ??= answer;
    }
    if (first === undefined) throw new Error('a request needs at least one form');
    return first;
  }

  get expectedForm(): Form | undefined {
    return this.forms[0];
  }

  expectForm(form: Form): void {
    if (this.forms[0] === form) return;
    this.forms = [form, ...this.forms.filter((other) => other !== form)];
  }
}

/**
 * Whether the answer confirms the form. Other failures do not: a gateway answers so for any path. A 404 does, unless
 * it means an unknown form: it is about the requested object.
 */
function confirmsForm(answer: HttpAnswer<unknown>): boolean {
  if (answer.kind === 'rejected') return answer.status === 404;
  return answer.kind === 'data' || answer.kind === 'noData';
}
