import { realEpochMs, realNowMs } from '#libs/clock';
import { type CloudAnswer } from './cloud-answer.js';
import { type CloudCall } from './cloud-client-options.js';
import { type CallEnd, TIMED_OUT, withDeadline } from './deadline.js';
import { type Exchange, type ServiceRequest } from './exchange.js';
import { type HttpTransport } from './http-transport.js';
import { toAnswer, type SuccessMeaning } from './to-answer.js';
import { type TokenSource } from './token-source.js';

export interface ServiceCallsOptions {
  transport: HttpTransport;
  token: TokenSource;
  timeoutMs: number;
  onCall?: ((call: CloudCall) => void) | undefined;
}

/** What a header can carry; anything else would fail in the HTTP library, with the token in its message. */
const SENDABLE_TOKEN = /^[\x21-\x7e]+$/;

/** One authorised request with its deadline, its report and its answer. */
export class ServiceCalls {
  constructor(private readonly options: ServiceCallsOptions) {}

  /** @throws the reason of `signal` when that aborts; nothing else */
  async call<T>(
    request: ServiceRequest,
    meaning: SuccessMeaning<T>,
    signal: AbortSignal | undefined,
  ): Promise<CloudAnswer<T>> {
    const exchange = await this.reported(request, signal);
    return toAnswer(request.operation, exchange, meaning, realEpochMs());
  }

  private async reported(request: ServiceRequest, signal?: AbortSignal): Promise<Exchange> {
    const startedMs = realNowMs();
    let status: CloudCall['status'] = 'aborted';
    try {
      const exchange = await this.exchange(request, signal);
      status = exchange.kind === 'reply' ? exchange.status : exchange.code;
      return exchange;
    } finally {
      const { operation } = request;
      this.options.onCall?.({ operation, status, durationMs: realNowMs() - startedMs });
    }
  }

  private async exchange(request: ServiceRequest, signal?: AbortSignal): Promise<Exchange> {
    const { timeoutMs } = this.options;
    const exchange = await withDeadline(timeoutMs, signal, (end) => this.authorised(request, end));
    if (exchange !== TIMED_OUT) return exchange;
    return { kind: 'failed', code: 'timeout', cause: { message: `no answer in ${timeoutMs} ms` } };
  }

  private async authorised(request: ServiceRequest, end: CallEnd): Promise<Exchange> {
    let token: string;
    try {
      token = await this.options.token();
    } catch (error) {
      return noToken(error instanceof Error ? error.message : 'its source failed');
    }
    if (!SENDABLE_TOKEN.test(token)) {
      return noToken(token === '' ? 'it is empty' : 'it has characters no header can carry');
    }
    return this.options.transport.send(request, token, end);
  }
}

/** Counts as a network failure: nothing reached the service, and the token may be there next time. */
function noToken(why: string): Exchange {
  const message = `no access token: ${why}`;
  return { kind: 'failed', code: 'network', cause: { code: 'NO_TOKEN', message } };
}
