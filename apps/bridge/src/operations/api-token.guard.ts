import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { BRIDGE_SETTINGS } from '../platform/index.js';

/** Asks for `BRIDGE_API_TOKEN` as Bearer, when it is set. */
@Injectable()
export class ApiTokenGuard implements CanActivate {
  private readonly expected: Buffer | undefined;

  constructor(@Inject(BRIDGE_SETTINGS) { http }: BridgeSettings) {
    this.expected = http.apiToken === undefined ? undefined : digest(`Bearer ${http.apiToken}`);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.expected === undefined) return true;
    const { headers } = context
      .switchToHttp()
      .getRequest<{ headers: { authorization?: string } }>();
    // Digests are of one length, which is what comparing in constant time asks for.
    if (timingSafeEqual(digest(headers.authorization ?? ''), this.expected)) return true;
    throw new UnauthorizedException('send BRIDGE_API_TOKEN as Authorization: Bearer <token>');
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
