import { signal } from '@preact/signals';
import type { MachineView } from '../../../src/api/index.js';
import { nowMs } from './clock.js';
import { signInNeeded } from './store.js';

/** An answer of the terminal's HTTP API; expected failures are values. */
export type Answer<T> = { ok: true; value: T } | Failure;

export interface Failure {
  ok: false;
  /** `away`: no answer, or one to retry · `signIn`: see {@link signInNeeded} · `refused`: never with this body */
  kind: 'away' | 'signIn' | 'refused';
  code: string | null;
  message: string | null;
  /** The answer's body; empty unless it was an object. */
  body: Record<string, unknown>;
  /** Shortest wait before the next try; 0 unless the server names one. */
  retryAfterMs: number;
}

const TIMEOUT_MS = 15_000;
const MIN_BACK_OFF_MS = 1_000;
/** Bound of `Retry-After`: during maintenance a proxy may ask for an hour. */
const MAX_RETRY_AFTER_MS = 60_000;
/** Statuses that say nothing about the request's content. */
const AGAIN_LATER = new Set([403, 408, 425, 429]);

/** When the last request without an answer was sent, epoch milliseconds: the connection may be lost. */
export const unansweredAtMs = signal(0);

/**
 * @param field a field that every such answer has, which distinguishes it from that of a proxy or captive portal; null:
 * no body
 * @param body of all methods but GET
 */
export async function call<T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  field: (keyof T & string) | null,
  body: unknown = {},
): Promise<Answer<T>> {
  const sentAtMs = nowMs();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), TIMEOUT_MS);
  const headers = { 'content-type': 'application/json', 'x-machine-terminal': '1' };
  try {
    const response = await fetch(path, {
      method,
      ...(method !== 'GET' && { headers, body: JSON.stringify(body) }),
      signal: late.signal,
      cache: 'no-store',
      redirect: 'manual',
    });
    if (!response.ok) return await failureOf(response);
    const value = parseObject(await response.text());
    if (field === null ? response.status !== 204 : !(field in value)) throw new Error('foreign');
    return { ok: true, value: value as T };
  } catch {
    if (method !== 'GET') unansweredAtMs.value = sentAtMs;
    return { ok: false, kind: 'away', code: null, message: null, body: {}, retryAfterMs: 0 };
  } finally {
    clearTimeout(timer);
  }
}

export function readMachine(machineId: string): Promise<Answer<MachineView>> {
  return call('GET', `/api/machines/${encodeURIComponent(machineId)}`, 'periods');
}

export async function failureOf(response: Response): Promise<Failure> {
  const { status } = response;
  const text = await response.text().catch(() => '');
  const body = parseObject(text);
  const code = textOf(body['code']);
  // a proxy's refusal says nothing about the content, unless it is too large
  const isFinal = status < 500 && !AGAIN_LATER.has(status) && (code !== null || status === 413);
  const isSignIn = status === 401 || response.type === 'opaqueredirect';
  if (isSignIn) signInNeeded.value = code === null ? 'proxy' : 'token';
  const kind = isSignIn ? 'signIn' : isFinal ? 'refused' : 'away';
  const askedMs = Number(response.headers.get('retry-after') ?? 0) * 1000 || 0;
  return {
    ok: false,
    kind,
    code: code ?? (status === 413 ? 'too-large' : null),
    message: textOf(body['message']),
    body,
    retryAfterMs: Math.min(MAX_RETRY_AFTER_MS, askedMs),
  };
}

/** Wait after a number of failed tries, with jitter, so that pages do not retry together. */
export function backOffMs(failures: number, maxMs: number): number {
  return Math.min(maxMs, MIN_BACK_OFF_MS * 2 ** failures) * (0.75 + Math.random() / 2);
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A random UUID; over plain http there is no `crypto.randomUUID`. */
export function createId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
