import { classifyStatus } from './classify-status.js';
import { type CloudAnswer } from './cloud-answer.js';
import { CloudError } from './cloud-error.js';
import { type Exchange, type ServiceReply } from './exchange.js';
import { FieldReader, MalformedField } from './field-reader.js';
import { type ListEntries } from './list-entries.js';
import { type Operation } from './operations.js';
import { describeRejection } from './rejection-detail.js';
import { readRetryAfter } from './retry-after.js';
import { type NoToken } from './token/token-source.js';

/** A document, perhaps behind a byte order mark, an XML declaration and comments. */
const WEB_PAGE =
  /^\uFEFF?\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->)[^])*-->\s*)*<(!doctype\s+html|html)\b/i;
/** Characters within which a page says what it is. */
const PAGE_HEAD = 2000;

/** What a 2xx means to an operation: a body to be read, or that the command was applied. */
export type SuccessMeaning<T> = (operation: Operation, reply: ServiceReply) => CloudAnswer<T>;

/**
 * Turns what became of a request into the operation's answer.
 *
 * @param nowMs real epoch milliseconds, for a `Retry-After` date in an answer without `Date`
 */
export function toAnswer<T>(
  operation: Operation,
  exchange: Exchange,
  meaning: SuccessMeaning<T>,
  nowMs: number,
): CloudAnswer<T> {
  if (exchange.kind === 'failed') {
    const { code, cause } = exchange;
    return repeat(new CloudError(code, operation, cause.message, { cause }));
  }
  const { status } = exchange;
  const statusClass = classifyStatus(status);
  switch (statusClass) {
    case 'success':
    case 'noContent':
      return meaning(operation, exchange);
    case 'unauthorised':
      return { kind: 'unauthorised', status: status === 401 ? 401 : 403 };
    case 'rejected':
      return { kind: 'rejected', status, detail: describeRejection(status, exchange.body) };
    case 'retry': {
      const error = new CloudError('http-status', operation, describeRejection(status, ''), {
        status,
      });
      return repeat(error, readRetryAfter(exchange.headers, nowMs));
    }
    default:
      return statusClass satisfies never;
  }
}

/** The answer of a call that was not made. Nothing reached the service, as after a network failure. */
export function withoutToken(operation: Operation, reason: NoToken): CloudAnswer<never> {
  if (reason.kind === 'refused') return { kind: 'unauthorised', status: 401 };
  const message = `no access token: ${reason.why}`;
  const cause = { code: 'NO_TOKEN', message };
  return repeat(new CloudError('network', operation, message, { cause }), reason.afterMs);
}

/** A read: 204 is no data, any other success has a JSON body that `parse` understands. */
export function bodyRead<T>(parse: (answer: FieldReader) => T): SuccessMeaning<T> {
  return reading((answer) => ({ kind: 'data', data: parse(answer) }));
}

/** The same of a list, whose incomplete entries are left out. */
export function listRead<T>(parse: (answer: FieldReader) => ListEntries<T>): SuccessMeaning<T[]> {
  return reading((answer) => {
    const { entries, incomplete } = parse(answer);
    return { kind: 'data', data: entries, ...(incomplete && { incomplete }) };
  });
}

function reading<T>(read: (answer: FieldReader) => CloudAnswer<T>): SuccessMeaning<T> {
  return (operation, reply) => {
    const { status, bodyFault } = reply;
    if (classifyStatus(status) === 'noContent') return { kind: 'noData' };
    if (bodyFault) {
      const { code, cause } = bodyFault;
      const field = code === 'malformed-answer' ? { field: 'body' } : {};
      return repeat(new CloudError(code, operation, cause.message, { status, cause, ...field }));
    }
    try {
      return read(new FieldReader(parseJson(reply.body)));
    } catch (error) {
      if (!(error instanceof MalformedField)) throw error;
      const { field, message } = error;
      return repeat(
        new CloudError('malformed-answer', operation, `malformed answer: ${message}`, {
          status,
          field,
        }),
      );
    }
  };
}

/**
 * A command: the interface does not show the body of its success, so the status alone counts, and any body will do but
 * a web page. That is what a gateway or a proxy shows, under maintenance for instance; its content type alone would not
 * tell, for web frameworks send a plain `OK` as text/html, too.
 */
export const applied: SuccessMeaning<null> = (operation, { status, body }) => {
  if (!WEB_PAGE.test(body.slice(0, PAGE_HEAD))) return { kind: 'data', data: null };
  const problem = `HTTP ${status} with a web page, which is none of the service's answers`;
  return repeat(new CloudError('malformed-answer', operation, problem, { status, field: 'body' }));
};

function parseJson(body: string): unknown {
  if (body.trim() === '') throw new MalformedField('body', 'is empty');
  try {
    return JSON.parse(body);
  } catch {
    // the parser's own message quotes the body
    throw new MalformedField('body', 'is not JSON');
  }
}

function repeat(error: CloudError, afterMs: number | null = null): CloudAnswer<never> {
  return { kind: 'retry', afterMs, error };
}
