import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import type { BridgeSettings } from '#libs/config';
import { BRIDGE_SETTINGS } from '../platform/index.js';

interface Request {
  headers: { authorization?: string };
}

interface Response {
  header(name: string, value: string): unknown;
}

/** RFC 9110, 11.1 and 11.4: the scheme in any case, blanks, the token. */
const BEARER = /^bearer +(?<token>.+)$/i;

/** Requires `BRIDGE_API_TOKEN` as a Bearer token if it is set; a 401 says so in `WWW-Authenticate`. */
@Injectable()
export class ApiTokenGuard implements CanActivate {
  private readonly expected: Buffer | undefined;

  constructor(@Inject(BRIDGE_SETTINGS) { http }: BridgeSettings) {
    this.expected = http.apiToken === undefined ? undefined : digest(http.apiToken);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.expected === undefined) return true;
    const http = context.switchToHttp();
    const { authorization = '' } = http.getRequest<Request>().headers;
    const sent = BEARER.exec(authorization)?.groups?.['token'];
    // A comparison in constant time requires equal lengths, which digests have.
    if (sent !== undefined && timingSafeEqual(digest(sent), this.expected)) return true;
    http.getResponse<Response>().header('www-authenticate', 'Bearer');
    throw new UnauthorizedException('send BRIDGE_API_TOKEN as Authorization: Bearer <token>');
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
