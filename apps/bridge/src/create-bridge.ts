import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { throwError } from 'rxjs';
import type { BridgeSettings } from '#libs/config';
import { acceptEmptyJson, createHttpApp, DATA_HEADERS, isCutOff } from '#libs/http-api';
import { KafkaConsumerStrategy } from '#libs/kafka';
import { jsonLogger } from '#libs/logging';
import { openTracing } from '#libs/tracing';
import { BridgeModule } from './bridge.module.js';

export interface Bridge {
  /** Base URL of its HTTP server, once {@link start} has resolved. */
  url: () => Promise<string>;
  /** Listens on HTTP first, for health while Kafka is unavailable, then consumes. @throws MissingTopicsError */
  start: () => Promise<void>;
  close: () => Promise<void>;
}

/** Bytes; a request to control a flow has a sentence or two. */
const BODY_LIMIT = 16 * 1024;
/** Probes, scrapers and a few readers; more connections would take memory that commands need. */
const MAX_CONNECTIONS = 256;
const logger = new Logger('Bridge');

/** Creates a bridge from its settings; nothing runs before {@link Bridge.start}. */
export async function createBridge(settings: BridgeSettings): Promise<Bridge> {
  const { kafka, machineCloud } = settings;
  const tracing = await openTracing(settings.tracing, {
    topicPrefix: kafka.topicPrefix,
    groupId: kafka.groupId,
    baseUrl: machineCloud.baseUrl,
  });
  const app = await createHttpApp(BridgeModule.with(settings, tracing), {
    bodyLimit: BODY_LIMIT,
    maxConnections: MAX_CONNECTIONS,
    headers: DATA_HEADERS,
    logger: jsonLogger(settings.logLevel),
  });
  acceptEmptyJson(app);
  const strategy = app.get(KafkaConsumerStrategy);
  app.useGlobalFilters(new HandOnExceptionsFilter(app.getHttpAdapter()));
  app.connectMicroservice({ strategy }, { inheritAppConfig: true });
  return {
    url: () => app.getUrl(),
    start: async () => {
      await app.listen(settings.http.port, settings.http.host);
      logger.log({ msg: 'listening', url: await app.getUrl() });
      await app.startAllMicroservices();
    },
    close: async () => {
      // Before Nest closes HTTP: messages in flight are finished and committed first, whatever else takes long.
      await strategy.close();
      await app.close();
      await tracing.closeTracing();
    },
  };
}

/**
 * Returns errors of message handlers to the consumer, which can tell an abort from a bug. Nest's own filter would log
 * every message that a stop cuts short as an error, and every request that its sender cuts short. Other HTTP errors
 * keep Nest's answers.
 */
@Catch()
class HandOnExceptionsFilter extends BaseExceptionFilter implements ExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): unknown {
    if (host.getType() === 'rpc') return throwError(() => error);
    const http = host.switchToHttp();
    if (isCutOff(error, http.getRequest<FastifyRequest>())) {
      void http.getResponse<FastifyReply>().status(408).send();
    } else {
      super.catch(error, host);
    }
    return undefined;
  }
}
