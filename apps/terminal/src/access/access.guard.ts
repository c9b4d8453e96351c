import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '#libs/http-api';
import type { Identity } from './identity.js';
import { StationAccess } from './station-access.js';

/** A request that has passed {@link AccessGuard}. */
export interface IdentifiedRequest extends FastifyRequest {
  identity: Identity;
}

/** Browsers let another site's page send it only after a CORS preflight, which the server never grants. */
const OWN_HEADER = 'x-machine-terminal';
const SAFE_METHODS = new Set(['GET', 'HEAD']);

/** Admits identified senders; requests that change something must come from the terminal's own page. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(private readonly access: StationAccess) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<IdentifiedRequest>();
    assertOwnPage(request, this.access);
    const identity = this.access.identifyStation(request);
    if (identity === undefined) {
      throw new ApiError(401, 'token-needed', "send a station's token to POST /api/session");
    }
    request.identity = identity;
    this.access.renewSession(request, http.getResponse<FastifyReply>());
    return true;
  }
}

/** Guards requests that need no session. */
@Injectable()
export class OwnPageGuard implements CanActivate {
  constructor(private readonly access: StationAccess) {}

  canActivate(context: ExecutionContext): boolean {
    assertOwnPage(context.switchToHttp().getRequest<FastifyRequest>(), this.access);
    return true;
  }
}

function assertOwnPage(request: FastifyRequest, access: StationAccess): void {
  if (!access.isHostTrusted(request)) {
    throw new ApiError(403, 'wrong-host', 'without tokens the terminal answers to loopback names');
  }
  if (SAFE_METHODS.has(request.method)) return;
  const { headers } = request;
  if (headers[OWN_HEADER] === undefined) {
    throw new ApiError(403, 'own-header-missing', `send the header ${OWN_HEADER}: 1`);
  }
  if (!/^application\/json\b/i.test(headers['content-type'] ?? 'application/json')) {
    throw new ApiError(415, 'unsupported-media-type', 'send application/json');
  }
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  // a proxy may change Host: Sec-Fetch-Site, which the browser sets, takes precedence
  const isOwn = site === undefined ? !origin || isOriginOf(origin, host) : site === 'same-origin';
  if (!isOwn) throw new ApiError(403, 'foreign-origin', 'the request comes from another site');
}

/** Whether the origin has that host. Browsers omit a scheme's default port; a proxy may include it. */
function isOriginOf(origin: string, host: string | undefined): boolean {
  const page = URL.canParse(origin) ? new URL(origin) : undefined;
  const own = `${page?.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === page?.host;
}
