import type { TlsOptions } from 'node:tls';
import type { DynamicModule, NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyServerOptions } from 'fastify';
import { SERVER_CHECKS, SERVER_TIMEOUT } from './limits.js';

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
    ...SERVER_TIMEOUT,
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
  instance.addHook('onRequest', (_, reply, done) => {
    void reply.headers(headers);
    done();
  });
  return app;
}
