import { Clock } from '#libs/clock';
import { apiPath, AuthorisedRequests } from './authorised-request.js';
import { type CloudClientOptions } from './cloud-client-options.js';
import { HttpTransport } from './http-transport.js';
import { RequestPace } from './request-pace.js';
import { ServiceCalls } from './service-calls.js';
import { TimedExchanges } from './timed-exchanges.js';
import { openTokenSource } from './token/open-token-source.js';

/** 30 days of a machine that changes state every minute are 5 MB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** Puts together what calls of the service go through; nothing is sent before the first of them. */
export function openServiceCalls(options: CloudClientOptions): ServiceCalls {
  const { baseUrl, token, onCall, maxRequestsPerSecond } = options;
  const { timeoutMs = 10_000, maxConnections = 64, clock = new Clock() } = options;
  const exchanges = new TimedExchanges(timeoutMs, onCall);
  const pace =
    maxRequestsPerSecond === undefined ? undefined : new RequestPace(maxRequestsPerSecond);
  return new ServiceCalls({
    requests: new AuthorisedRequests(apiPath(baseUrl)),
    transport: new HttpTransport({
      origin: new URL(baseUrl).origin,
      maxConnections,
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    }),
    exchanges,
    tokens: openTokenSource(token, { baseUrl, exchanges, pace }),
    pace,
    clock,
  });
}
