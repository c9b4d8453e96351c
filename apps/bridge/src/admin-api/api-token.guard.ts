import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Inject,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BridgeSettings } from '#libs/config';
import { bearerDigests, isForLoopback, ownerOf, sha256 } from '#libs/http-api';
import { BRIDGE_SETTINGS } from '../platform/index.js';

/**
 * Requires `BRIDGE_API_TOKEN` as a Bearer token if it is set; a 401 says so in `WWW-Authenticate`. Without it the bridge
 * listens on loopback alone, and a page whose own name resolves to loopback may not read from it. A page's browser
 * always sends `Host`.
 */
@Injectable()
export class ApiTokenGuard implements CanActivate {
  private readonly expected: Buffer | undefined;

  constructor(@Inject(BRIDGE_SETTINGS) { http }: BridgeSettings) {
    this.expected = http.apiToken === undefined ? undefined : sha256(http.apiToken);
  }

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (this.expected === undefined) {
      if (request.headers.host === undefined || isForLoopback(request)) return true;
      const names = '127.0.0.1, [::1] or localhost';
      throw new ForbiddenException(`send the request to ${names}, or set BRIDGE_API_TOKEN`);
    }
    const sent = bearerDigests(request) ?? [];
    if (ownerOf(sent, [{ tokenDigest: this.expected }]) !== undefined) return true;
    void http.getResponse<FastifyReply>().header('www-authenticate', 'Bearer');
    throw new UnauthorizedException('send BRIDGE_API_TOKEN as Authorization: Bearer <token>');
  }
}
