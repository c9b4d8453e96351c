import { Axios, type AxiosResponse, isAxiosError } from 'axios';
import { Pool } from 'undici';
import { type CallEnd } from './deadline.js';
import { type CloudErrorCause } from './cloud-error.js';
import { type Exchange, type ServiceReply, type ServiceRequest } from './exchange.js';
import { undiciAdapter } from './undici-adapter.js';

export interface HttpTransportOptions {
  baseUrl: string;
  maxConnections: number;
  timeoutMs: number;
  /** A larger answer is not read to its end. */
  maxAnswerBytes: number;
}

/** Kept out of axios, whose treatment of each header costs more than the header. */
const SAME_FOR_ALL = { accept: 'application/json', 'accept-encoding': 'identity' };

/** Sends requests over kept-alive connections; every failure is a value. */
export class HttpTransport {
  private readonly pool: Pool;
  private readonly http: Axios;
  private readonly basePath: string;

  constructor(options: HttpTransportOptions) {
    const base = new URL(options.baseUrl);
    this.basePath = `${base.pathname.replace(/\/+$/, '')}/api/v1`;
    this.pool = new Pool(base.origin, {
      connections: options.maxConnections,
      connect: { timeout: options.timeoutMs },
      // these two watch for inactivity; the caller's deadline covers the whole call
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: options.maxAnswerBytes,
    });
    // Unlike create() this takes none of axios's defaults, which it would merge and validate for every call.
    this.http = new Axios({ adapter: undiciAdapter(this.pool, SAME_FOR_ALL) });
  }

  async send(request: ServiceRequest, token: string, end: CallEnd): Promise<Exchange> {
    try {
      const response = await this.http.request<string>({
        url: pathOf(this.basePath, request),
        method: request.method,
        headers: headersOf(request, token),
        ...(request.body ? { data: JSON.stringify(request.body) } : {}),
        signal: end,
      });
      // an error body may echo the request, and ends up in logs and dead letters
      const { status, data } = response;
      return toReply(response, status < 300 ? data : data.replaceAll(token, '***'));
    } catch (error) {
      return toFailure(error);
    }
  }

  /** Waits for requests in flight, then closes every connection. */
  async close(): Promise<void> {
    await this.pool.close();
  }
}

function pathOf(basePath: string, request: ServiceRequest): string {
  const path = `${basePath}/${request.path}`;
  if (request.machineId === undefined) return path;
  // unlike encodeURIComponent this takes any string; a space as %20 is read alike by every server
  const query = new URLSearchParams({ machineId: request.machineId }).toString();
  return `${path}?${query.replaceAll('+', '%20')}`;
}

function headersOf(request: ServiceRequest, token: string): Record<string, string> {
  return {
    Authorization: `Bearer ${token}`,
    ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
}

function toReply({ status, headers }: AxiosResponse, body: string): ServiceReply {
  const retryAfter = firstValue(headers['retry-after']);
  return {
    kind: 'reply',
    status,
    headers: { retryAfter, date: firstValue(headers['date']) },
    body,
  };
}

function toFailure(error: unknown): Exchange {
  const { code, message } = error as NodeJS.ErrnoException;
  const cause: CloudErrorCause = { ...(code === undefined ? {} : { code }), message };
  if (isAxiosError<string>(error) && error.response) {
    const fault = code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' ? 'malformed-answer' : 'network';
    return { ...toReply(error.response, ''), bodyFault: { code: fault, cause } };
  }
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'network';
  return { kind: 'failed', code: kind, cause };
}

function firstValue(header: unknown): string | undefined {
  const value: unknown = Array.isArray(header) ? header[0] : header;
  return typeof value === 'string' ? value : undefined;
}
