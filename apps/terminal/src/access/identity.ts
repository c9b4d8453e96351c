import { createHmac, timingSafeEqual } from 'node:crypto';

/** The sender of a request. */
export interface Identity {
  station: string;
  /** Registered at the station until the end of the shift; null for nobody. */
  operator: string | null;
}

/** Signed content of the session cookie. */
export interface SessionCookie {
  station: string;
  /** Digest of the token that opened the session; empty where none is needed. */
  token: string;
  operator: string | null;
  /** End of the operator's shift, epoch seconds of the plant. */
  operatorUntil: number;
  /** Real epoch milliseconds. */
  expiresMs: number;
}

const LONGEST_NAME = 100;
const NAME = /^[^\p{Cc}\p{Cs}]+$/u;

/** Whether a value is a name of 1 to 100 characters, none of them a control character or lone surrogate. */
export function isOperatorName(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '') return false;
  return value.length <= LONGEST_NAME && NAME.test(value);
}

/** `<payload>.<signature>`, both base64url. */
export function signSession(session: SessionCookie, secret: Buffer): string {
  const payload = Buffer.from(JSON.stringify(session)).toString('base64url');
  return `${payload}.${signatureOf(payload, secret).toString('base64url')}`;
}

/** Undefined if this server has not signed the cookie, or if it has expired. */
export function readSession(
  cookie: string,
  secret: Buffer,
  nowMs: number,
): SessionCookie | undefined {
  const [payload = '', signature = ''] = cookie.split('.');
  const sent = Buffer.from(signature, 'base64url');
  const expected = signatureOf(payload, secret);
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return undefined;
  const session = parseSession(Buffer.from(payload, 'base64url').toString('utf8'));
  return session !== null && session.expiresMs > nowMs ? session : undefined;
}

/** Tolerates any text: without tokens the key is public, and anybody may have signed it. */
function parseSession(text: string): SessionCookie | null {
  try {
    return JSON.parse(text) as SessionCookie | null;
  } catch {
    return null;
  }
}

/** The values of the cookies of one name in a `cookie` header: browsers send one for each path and domain. */
export function cookieValues(header: string | undefined, name: string): string[] {
  const cookies = (header?.split(';') ?? []).map((part) => part.trim().split('=', 2));
  return cookies.flatMap(([key, value]) => (key === name && value !== undefined ? [value] : []));
}

function signatureOf(payload: string, secret: Buffer): Buffer {
  return createHmac('sha256', secret).update(payload).digest();
}
