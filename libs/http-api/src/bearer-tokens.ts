import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** RFC 9110, 11.1 and 11.4: the scheme in any case, blanks, the token. */
const BEARER = /^bearer +(?<token>.+)$/i;
const LOOPBACK_HOST = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)(:\d+)?$/i;

/** Whether the `Host` is a loopback name. Another site's name may resolve to loopback (DNS rebinding). */
export function isForLoopback({ headers }: FastifyRequest): boolean {
  return LOOPBACK_HOST.test(headers.host ?? '');
}

/** Whether a web page has sent the request. A proxy may remove `Origin`; an address that was typed has `none`. */
export function isFromPage({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  return headers.origin !== undefined || (site !== undefined && site !== 'none');
}

/** Digests of a request's Bearer token: Node decodes headers as Latin-1, clients encode them as UTF-8 or Latin-1. */
export function bearerDigests({ headers }: FastifyRequest): Buffer[] | undefined {
  const token = BEARER.exec(headers.authorization ?? '')?.groups?.['token'];
  return token === undefined ? undefined : [sha256(token, 'latin1'), sha256(token)];
}

/** SHA-256: digests have equal length, which a comparison in constant time requires. */
export function sha256(text: string, encoding: BufferEncoding = 'utf8'): Buffer {
  return createHash('sha256').update(text, encoding).digest();
}

/**
 * The owner of a token with one of these digests, the last if there are several. Compares with every token, so that the
 * duration reveals nothing.
 */
export function ownerOf<T extends { tokenDigest?: Buffer | undefined }>(
  sent: readonly Buffer[],
  owners: readonly T[],
): T | undefined {
  let found: T | undefined;
  for (const owner of owners) {
    const { tokenDigest } = owner;
    const isRight = (digest: Buffer): boolean =>
      digest.length === tokenDigest?.length && timingSafeEqual(digest, tokenDigest);
    if (sent.some(isRight)) found = owner;
  }
  return found;
}
