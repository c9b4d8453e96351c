import { isIPv6 } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import { ApiError, RateLimit } from '#libs/http-api';

/** Ten at once, and ten a minute after that. */
const BURST = 10;
const PER_SECOND = 10 / 60;

/**
 * Answers wrong tokens, typed or as Bearer, with 401, and with 429 after a number of them from one address. Correct
 * tokens are never delayed: a hall of terminals behind one address continues while one has an old token. Only its
 * length protects a token from being guessed; the limit slows a sender down and keeps the log readable.
 */
@Injectable()
export class WrongTokens {
  count = 0;
  private readonly limit = new RateLimit(BURST, PER_SECOND);
  private readonly logger = new Logger('Access');

  /** The answer to a wrong token from this address. */
  refuseToken(address: string): ApiError {
    this.count += 1;
    const waitSeconds = this.limit.takeTokens(networkOf(address), 1);
    if (waitSeconds > 0) {
      return new ApiError(429, 'too-many', 'too many wrong tokens from this address', waitSeconds);
    }
    this.logger.warn({ msg: 'a token is wrong', address });
    return new ApiError(401, 'wrong-token', 'no station has this token');
  }
}

const IPV4_IN_IPV6 = /^::ffff:(?=\d+\.)/i;

/** The address, or the /64 of an IPv6 address: one host may use all of a /64. */
export function networkOf(address: string): string {
  const plain = address.replace(IPV4_IN_IPV6, '').replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.toLowerCase().split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  if (tail !== undefined) {
    groups.push(...Array.from({ length: 8 - groups.length - after }, () => '0'));
    if (tail !== '') groups.push(...tail.split(':'));
  }
  const network = groups.slice(0, 4).map((group) => parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
