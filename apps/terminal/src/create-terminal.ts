import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import type { TerminalSettings } from '#libs/config';
import { acceptEmptyJson, ApiErrorFilter, createHttpApp, REFUSED_ADDRESSES } from '#libs/http-api';
import { jsonLogger } from '#libs/logging';
import { servePage } from './http/page-files.js';
import { PlantFeed } from './kafka/plant-feed.js';
import { LiveUpdates } from './live/live-updates.js';
import { TerminalModule } from './terminal.module.js';

export interface Terminal extends Pick<TerminalSettings, 'unsupported'> {
  /** Address of the HTTP server, once it listens. */
  url: () => Promise<string>;
  /**
   * Listens first, so that pages can show that Kafka is unreachable, then begins to read the topics. Resolves when
   * reading has begun.
   *
   * @throws MissingTopicsError when topics are missing and may not be created
   */
  start: () => Promise<void>;
  close: () => Promise<void>;
}

/** A request with a hundred reasons is smaller. */
const BODY_LIMIT = 64 * 1024;
/** Five for each of 400 pages; a plant has fewer screens. */
const MAX_CONNECTIONS = 2_000;
/** The page runs no inline script, loads nothing from other hosts, and is never framed. */
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
const logger = new Logger('Terminal');

/** Creates a terminal from its settings; nothing runs before {@link Terminal.start}. */
export async function createTerminal(settings: TerminalSettings): Promise<Terminal> {
  const app = await createHttpApp(TerminalModule.with(settings), {
    bodyLimit: BODY_LIMIT,
    maxConnections: MAX_CONNECTIONS,
    headers: HEADERS,
    logger: jsonLogger(settings.logLevel),
    fastify: {
      ...REFUSED_ADDRESSES,
      // proxies whose X-Forwarded-For is accepted
      ...(settings.trustedProxies.length > 0 && { trustProxy: settings.trustedProxies }),
    },
  });
  acceptEmptyJson(app);
  app.useGlobalFilters(new ApiErrorFilter());
  const instance = app.getHttpAdapter().getInstance();
  instance.addHook('onRequest', (request, reply, done) => {
    if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store');
    done();
  });
  servePage(instance);
  return {
    unsupported: settings.unsupported,
    url: () => app.getUrl(),
    start: async () => {
      await app.listen(settings.http.port, settings.http.host);
      logger.log({ msg: 'listening', url: await app.getUrl() });
      app.get(LiveUpdates).startPublishing();
      await app.get(PlantFeed).startReading();
    },
    close: () => app.close(),
  };
}
