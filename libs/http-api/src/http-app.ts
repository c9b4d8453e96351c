import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { DynamicModule, NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyServerOptions, RawServerDefault } from 'fastify';

/** A whole request, even one that never begins, must arrive within this time; the answer may be later. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * For Node's server, with or without TLS. Node applies the longer of both timeouts to the whole request: with its
 * default of a minute for the head, half a body would stay as long. It checks for late requests once in the interval.
 */
const SERVER_CHECKS = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  handshakeTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
} as const;

/**
 * Requests of one connection that may wait for their answers; clients send the next one after an answer. Node handles
 * all that have arrived, and keeps the answers while their client does not read: 64 KiB of `GET /metrics` took 100 MB,
 * and health did not answer for four seconds.
 */
const MAX_PIPELINED = 16;

/** Headers of answers that are current data, not pages. */
export const DATA_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
} as const;

interface HttpAppOptions extends Pick<NestApplicationOptions, 'logger' | 'bodyParser'> {
  /** In bytes; a larger body is answered with 413. */
  bodyLimit: number;
  /** Any further connection is closed. */
  maxConnections: number;
  /** Sent with every answer. */
  headers?: Readonly<Record<string, string>>;
  tls?: TlsOptions | undefined;
  fastify?: FastifyServerOptions;
}

/** Fastify's own limit of 100 characters would hide machines with longer ids; they have up to 256. */
const LONGEST_PATH_PARAMETER = 1024;

/**
 * Creates an application with a bounded HTTP server. A stop closes its connections, unless `fastify` says otherwise:
 * pages of the terminal follow events, and calls of the sandbox hang on purpose.
 */
export async function createHttpApp(
  module: DynamicModule,
  { bodyLimit, maxConnections, headers = {}, tls, fastify, ...options }: HttpAppOptions,
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit,
    requestTimeout: REQUEST_TIMEOUT_MS,
    ...(tls === undefined ? { http: SERVER_CHECKS } : { https: { ...SERVER_CHECKS, ...tls } }),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_PATH_PARAMETER },
    ...fastify,
  });
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    ...options,
    abortOnError: false,
  });
  const instance = adapter.getInstance();
  const { server } = instance;
  server.maxConnections = maxConnections;
  // Node would answer 417 without a body to `Expect: x`, which a server may ignore (RFC 9110, 10.1.1)
  server.on('checkExpectation', (...exchange) => server.emit('request', ...exchange));
  const isCutOff = cutOffPipelines(server);
  instance.addHook('onRequest', ({ raw }, reply, done) => {
    // without `done` nothing handles the rest of what has arrived
    if (isCutOff(raw.socket)) return;
    void reply.headers(headers);
    done();
  });
  return app;
}

/** Destroys connections with too many unanswered requests; returns whether it has destroyed one. */
function cutOffPipelines(server: Pick<Server, 'prependListener'>): (socket: Socket) => boolean {
  const unanswered = new WeakMap<Socket, number>();
  const cutOff = new WeakSet<Socket>();
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 0) - 1));
    if (count <= MAX_PIPELINED) return;
    cutOff.add(socket);
    socket.destroy();
  });
  return (socket) => cutOff.has(socket);
}

/** Accepts an empty JSON body as none: libraries send the content type with every request. */
export function acceptEmptyJson(app: NestFastifyApplication): void {
  const parse = app.getHttpAdapter().getInstance().getDefaultJsonParser('error', 'error');
  app.useBodyParser<RawServerDefault>('application/json', {}, (request, body, done) => {
    if (body.length === 0) done(null);
    else void parse(request, body.toString(), done);
  });
}
