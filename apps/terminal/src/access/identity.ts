import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Who asks. */
export interface Identity {
  station: string;
  /** Who works there, as long as the shift lasts. */
  operator: string | null;
}

/** What the session cookie holds, signed. */
export interface SessionCookie {
  station: string;
  /** Digest of the token it was opened with; empty where none is needed. */
  token: string;
  operator: string | null;
  /** End of the operator's shift, epoch seconds of the plant. */
  operatorUntil: number;
  /** Real epoch milliseconds. */
  expiresMs: number;
}

const LONGEST_NAME = 100;
const NAME = /^[^\p{Cc}\p{Cs}]+$/u;

/** Whether it has 1 to 100 characters, none of them a control character or half of a pair. */
export function isOperatorName(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '') return false;
  return value.length <= LONGEST_NAME && NAME.test(value);
}

/** Digests are of one length, which is what comparing in constant time asks for. */
export function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** `<payload>.<signature>`, both base64url. */
export function signSession(session: SessionCookie, secret: Buffer): string {
  const payload = Buffer.from(JSON.stringify(session)).toString('base64url');
  return `${payload}.${signatureOf(payload, secret).toString('base64url')}`;
}

/** Undefined for what this server has not signed, and for what has expired. */
export function readSession(
  cookie: string | undefined,
  secret: Buffer,
  nowMs: number,
): SessionCookie | undefined {
  const [payload = '', signature = ''] = cookie?.split('.') ?? [];
  const sent = Buffer.from(signature, 'base64url');
  const expected = signatureOf(payload, secret);
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined;
  const session = parsed(Buffer.from(payload, 'base64url').toString('utf8'));
  return session !== null && session.expiresMs > nowMs ? session : undefined;
}

/** Without tokens everybody knows the key, and may have signed anything. */
function parsed(text: string): SessionCookie | null {
  try {
    return JSON.parse(text) as SessionCookie | null;
  } catch {
    return null;
  }
}

/** The value of one cookie of a `cookie` header. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

function signatureOf(payload: string, secret: Buffer): Buffer {
  return createHmac('sha256', secret).update(payload).digest();
}
