import { Injectable, Logger } from '@nestjs/common';
import { ApiError, networkOf, RateLimit } from '#libs/http-api';

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
