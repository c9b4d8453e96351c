import { Axios, isAxiosError } from 'axios';
import { Pool } from 'undici';
import { type CallEnd } from './timeout.js';
import { type CloudErrorCause } from './cloud-error.js';
import { type Exchange, type HttpRequest, type ServiceReply } from './exchange.js';
import { redactToken } from './redact-token.js';
import { resettingConnector } from './resetting-connector.js';
import { Sending, type SendingConfig } from './sending.js';
import { undiciAdapter } from './undici-adapter.js';

export interface HttpTransportOptions {
  origin: string;
  maxConnections: number;
  timeoutMs: number;
  /** A larger answer is not read to its end. */
  maxAnswerBytes: number;
}

/** Sends requests over kept-alive connections; every failure is a value. */
export class HttpTransport {
  private readonly pool: Pool;
  private readonly http: Axios;

  constructor(options: HttpTransportOptions) {
    this.pool = new Pool(options.origin, {
      connections: options.maxConnections,
      connect: resettingConnector(options.timeoutMs),
      // these two watch for inactivity; the caller's deadline covers the whole call
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: options.maxAnswerBytes,
    });
    // Unlike create() this takes none of axios's defaults, which it would merge and validate for every call.
    this.http = new Axios({ adapter: undiciAdapter(this.pool) });
  }

  async send(request: HttpRequest, end: CallEnd): Promise<Exchange> {
    try {
      const config: SendingConfig = { sending: new Sending(request, end) };
      const { data } = await this.http.request<ServiceReply>(config);
      if (data.status < 300 || request.token === undefined) return data;
      return { ...data, body: redactToken(data.body, request.token) };
    } catch (error) {
      return toFailure(error);
    }
  }

  /** Waits for requests in flight, then closes every connection. */
  async close(): Promise<void> {
    await this.pool.close();
  }

  /** Closes every connection; requests in flight fail. */
  async destroy(): Promise<void> {
    await this.pool.destroy();
  }
}

function toFailure(error: unknown): Exchange {
  const { code, message } = error as NodeJS.ErrnoException;
  const cause: CloudErrorCause = { ...(code === undefined ? {} : { code }), message };
  if (isAxiosError<ServiceReply>(error) && error.response) {
    const fault = code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' ? 'malformed-answer' : 'network';
    return { ...error.response.data, bodyFault: { code: fault, cause } };
  }
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'network';
  return { kind: 'failed', code: kind, cause };
}
