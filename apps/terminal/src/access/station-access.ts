import { createHmac } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Clock, realEpochMs } from '#libs/clock';
import type { TerminalAccess, TerminalSettings } from '#libs/config';
import { ApiError, bearerDigests, isForLoopback, ownerOf, sha256 } from '#libs/http-api';
import type { Session } from '../api/index.js';
import { Plant } from '../plant/index.js';
import { TERMINAL_SETTINGS } from '../platform/tokens.js';
import {
  cookieValues,
  type Identity,
  isOperatorName,
  readSession,
  type SessionCookie,
  signSession,
} from './identity.js';
import { WrongTokens } from './wrong-tokens.js';

const SESSION_SECONDS = 30 * 86_400;
const RENEWED_AFTER_SECONDS = 86_400;

/** Identifies the sender of a request by a session cookie, a station's token, or the headers of a proxy. */
@Injectable()
export class StationAccess {
  private readonly access: TerminalAccess;
  private readonly secret: Buffer;
  private readonly cookie: string;
  private readonly stations: { tokenDigest: Buffer; station: string }[];
  private readonly isProxy: (address: string | undefined) => boolean;

  constructor(
    @Inject(TERMINAL_SETTINGS) private readonly settings: TerminalSettings,
    private readonly clock: Clock,
    private readonly plant: Plant,
    private readonly wrongTokens: WrongTokens,
  ) {
    const { access, http, trustedProxies } = settings;
    this.access = access;
    this.isProxy = addressesIn(trustedProxies);
    const tokens = access.kind === 'tokens' ? [...access.stations] : [];
    this.stations = tokens.map(([token, station]) => ({ tokenDigest: sha256(token), station }));
    this.secret = secretOf(tokens.map(([token]) => token));
    this.cookie = cookieNameOf(this.secret, access.kind === 'open' ? http.port : undefined);
  }

  /** The terminal's settings for a page, and the page's identity. */
  sessionFor({ station, operator }: Identity): Session {
    const { shifts, stopThresholdSeconds, reasonLooks } = this.settings;
    const epochSeconds = this.clock.nowSeconds();
    return {
      ...{ station, operator, timeZone: shifts.timeZone },
      clock: { epochSeconds, speed: this.clock.speed },
      stopThresholdSeconds,
      shifts: this.plant.shifts(epochSeconds),
      factories: this.plant.factories(),
      reasonLooks: reasonLooks.reasons,
      groups: reasonLooks.groups,
    };
  }

  /** Undefined if a token is needed. @throws ApiError 401 or 429 for a wrong token */
  identifyStation(request: FastifyRequest): Identity | undefined {
    const { access } = this;
    switch (access.kind) {
      case 'open':
        return this.withOperator(request, access.station);
      case 'tokens': {
        const station = this.stationOf(request);
        return station === undefined ? undefined : this.withOperator(request, station);
      }
      case 'proxy': {
        const isTrusted = this.isProxy(request.socket.remoteAddress);
        const station = isTrusted ? headerOf(request, access.stationHeader) : undefined;
        if (station === undefined) return undefined;
        const operator = access.operatorHeader && headerOf(request, access.operatorHeader);
        return operator === undefined ? this.withOperator(request, station) : { station, operator };
      }
      default:
        return access satisfies never;
    }
  }

  /** Without tokens only loopback names are accepted. */
  isHostTrusted(request: FastifyRequest): boolean {
    return this.access.kind !== 'open' || isForLoopback(request);
  }

  /** Whether the proxy names operators, so that pages cannot. */
  get isOperatorByProxy(): boolean {
    return this.access.kind === 'proxy' && this.access.operatorHeader !== undefined;
  }

  /** Opens a session. @throws ApiError 401 if no station has the token, 429 after too many of these */
  openSession(token: string, request: FastifyRequest, reply: FastifyReply): Identity {
    const found = ownerOf([sha256(token)], this.stations);
    if (found === undefined) throw this.wrongTokens.refuseToken(request.ip);
    const { station } = found;
    const session = { station, token: found.tokenDigest.toString('base64url'), operator: null };
    this.setCookie(request, reply, { ...session, operatorUntil: 0 });
    return { station, operator: null };
  }

  /** Extends a session in use: operators at night have no token to open another. */
  renewSession(request: FastifyRequest, reply: FastifyReply): void {
    const session = this.sessionOf(request);
    if (session === undefined) return;
    const leftSeconds = (session.expiresMs - realEpochMs()) / 1000;
    if (leftSeconds < SESSION_SECONDS - RENEWED_AFTER_SECONDS) {
      this.setCookie(request, reply, session);
    }
  }

  /** @throws ApiError 409 if the proxy names operators */
  setOperator(
    operator: string | null,
    { station }: Identity,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Identity {
    if (this.isOperatorByProxy) {
      throw new ApiError(409, 'operator-by-proxy', 'the proxy says who works here');
    }
    const session = this.sessionOf(request);
    const [{ endTime: operatorUntil }] = this.plant.shifts(this.clock.nowSeconds());
    const token = session?.token ?? '';
    this.setCookie(request, reply, { station, token, operator, operatorUntil });
    return { station, operator };
  }

  closeSession(reply: FastifyReply): void {
    this.sendCookie(reply, '', 'Max-Age=0');
  }

  private stationOf(request: FastifyRequest): string | undefined {
    const bearer = bearerDigests(request);
    if (bearer !== undefined) {
      const known = ownerOf(bearer, this.stations);
      if (known === undefined) throw this.wrongTokens.refuseToken(request.ip);
      return known.station;
    }
    const session = this.sessionOf(request);
    if (session === undefined) return undefined;
    // the token may belong to another station since
    return ownerOf([Buffer.from(session.token, 'base64url')], this.stations)?.station;
  }

  private withOperator(request: FastifyRequest, station: string): Identity {
    const session = this.sessionOf(request);
    const isOver = (session?.operatorUntil ?? 0) <= this.clock.nowSeconds();
    const operator = session?.station === station && !isOver ? session.operator : null;
    return { station, operator: isOperatorName(operator) ? operator : null };
  }

  private sessionOf({ headers }: FastifyRequest): SessionCookie | undefined {
    for (const value of cookieValues(headers.cookie, this.cookie)) {
      const session = readSession(value, this.secret, realEpochMs());
      if (session !== undefined) return session;
    }
    return undefined;
  }

  private setCookie(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Omit<SessionCookie, 'expiresMs'>,
  ): void {
    // of several proxies the first is the one that the browser speaks to
    const isSecure = /^https\s*(,|$)/i.test(String(request.headers['x-forwarded-proto']));
    const expiresMs = realEpochMs() + SESSION_SECONDS * 1000;
    const value = signSession({ ...session, expiresMs }, this.secret);
    this.sendCookie(reply, value, `Max-Age=${SESSION_SECONDS}${isSecure ? '; Secure' : ''}`);
  }

  private sendCookie(reply: FastifyReply, value: string, age: string): void {
    const cookie = `${this.cookie}=${value}; Path=/; HttpOnly; SameSite=Strict; ${age}`;
    // replaces a cookie that the guard has renewed: of two with one name a proxy may keep either
    void reply.removeHeader('set-cookie').header('set-cookie', cookie);
  }
}

/**
 * Derived from the tokens, so that sessions survive a restart and end when a token is removed. Without tokens the key
 * is public: a session holds the operator alone, and anybody who can send a request can register one.
 */
function secretOf(tokens: readonly string[]): Buffer {
  return createHmac('sha256', 'machine-terminal session')
    .update(JSON.stringify([...tokens].sort()))
    .digest();
}

/**
 * Browsers send the cookies of a host to all of its ports: terminals with different tokens, and those without tokens on
 * one computer, need different names. Servers with the same tokens share their sessions.
 */
function cookieNameOf(secret: Buffer, port: number | undefined): string {
  const of = createHmac('sha256', secret)
    .update(`cookie ${port ?? ''}`)
    .digest('hex');
  return `machine-terminal-${of.slice(0, 8)}`;
}

/** Whether an address is in one of these networks; all are if there are none. */
function addressesIn(networks: readonly string[]): (address: string | undefined) => boolean {
  if (networks.length === 0) return () => true;
  const list = new BlockList();
  for (const each of networks) {
    const [address = '', prefix] = each.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address = '') => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Node decodes headers as Latin-1; proxies write UTF-8. */
function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name];
  if (typeof value !== 'string') return undefined;
  const text = Buffer.from(value.trim(), 'latin1').toString('utf8').slice(0, 100);
  // the page sends the name with its entries, where it has to be valid
  return text.replace(/[\p{Cc}\p{Cs}]/gu, '').trim() || undefined;
}
