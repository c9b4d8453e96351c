import { Controller, Get, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ApiError } from '#libs/http-api';
import { AccessGuard, type IdentifiedRequest } from '../access/access.guard.js';
import { StationAccess } from '../access/station-access.js';
import { acceptsEncoding } from '../platform/accepts-encoding.js';
import { FactoryId } from '../platform/factory-id.decorator.js';
import type { StreamClient } from './event-stream.js';
import { LiveUpdates } from './live-updates.js';

/** Each holds a connection and its backlog. */
const MAX_CLIENTS = 1000;

@Controller('api/events')
@UseGuards(AccessGuard)
export class LiveController {
  constructor(
    private readonly live: LiveUpdates,
    private readonly access: StationAccess,
  ) {}

  @Get()
  follow(
    @FactoryId() factoryId: string | null,
    @Req() request: IdentifiedRequest,
    @Res() reply: FastifyReply,
  ): void {
    const { stream } = this.live;
    if (stream.size >= MAX_CLIENTS) {
      throw new ApiError(503, 'too-many-pages', 'too many pages follow the events', 10);
    }
    const isCompressed = acceptsEncoding(request, 'gzip');
    const headers = { ...reply.getHeaders() } as Record<string, string>;
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // without it nginx buffers events
      'x-accel-buffering': 'no',
      vary: 'accept-encoding',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    });
    if (request.method === 'HEAD') {
      raw.end();
      return;
    }
    const client: StreamClient = {
      ...{ output: raw, isCompressed, factoryId, firstBytes: 0 },
      identity: () => this.access.identifyStation(request) ?? request.identity,
    };
    // of the socket: a response queued behind another one of its connection emits no `close`
    request.socket.on('close', () => stream.removeClient(client));
    raw.on('error', () => undefined);
    const lastEventId = request.headers['last-event-id'];
    this.live.connectPage(client, typeof lastEventId === 'string' ? lastEventId : undefined);
  }
}
