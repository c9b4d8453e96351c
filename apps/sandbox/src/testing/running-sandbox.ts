import { ManualClock } from '#libs/clock';
import { CallLog } from '../control/call-log.js';
import { createSandbox, loadSettings } from '../create-sandbox.js';

/** Wednesday, 12 November 2025, 10:00:00 UTC, within the shift from 06:00 to 14:00. */
export const NOW = 1_762_941_600;
export const SHIFT_END = NOW + 4 * 3600;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body, undefined when there is none. */
  json: unknown;
}

export type RunningSandbox = Awaited<ReturnType<typeof runSandbox>>;

/** Starts a sandbox on a free port with a clock that is stopped at NOW. */
export async function runSandbox(environment: Record<string, string> = {}) {
  const clock = new ManualClock(NOW * 1000);
  const app = await createSandbox(loadSettings({ LOG_LEVEL: 'silent', ...environment }), clock);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    clock,
    url,
    callLog: app.get(CallLog),
    close: () => app.close(),
    /** Calls the service, by default with the token that has all scopes. */
    service: (method: string, path: string, options: CallOptions = {}) =>
      request(`${url}/api/v1/${path}`, method, {
        ...options,
        headers: {
          authorization: `Bearer ${options.token ?? 'sandbox-token'}`,
          ...options.headers,
        },
      }),
    control: (method: string, path: string, body?: unknown) =>
      request(`${url}/sandbox/${path}`, method, body === undefined ? {} : { body }),
  };
}

interface CallOptions {
  token?: string;
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function request(url: string, method: string, options: CallOptions): Promise<Answer> {
  const { body, signal } = options;
  const response = await fetch(url, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  const json: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}
