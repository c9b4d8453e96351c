import 'reflect-metadata';
import { Server as TlsServer } from 'node:tls';
import { Logger } from '@nestjs/common';
import { afterRealMs, everyRealMs } from '#libs/clock';
import type { IngestSettings, IngestTls } from '#libs/config';
import { MAX_BODY_BYTES } from '#libs/contracts';
import { ApiErrorFilter, createHttpApp, DATA_HEADERS, REFUSED_ADDRESSES } from '#libs/http-api';
import { jsonLogger } from '#libs/logging';
import { SenderAccess } from './access/sender-access.js';
import { Callbacks } from './callbacks/callbacks.js';
import { addAdmission } from './http/admission.js';
import { IngestModule } from './ingest.module.js';
import { RequestWriter } from './kafka/request-writer.js';

export interface Ingest extends Pick<IngestSettings, 'unsupported'> {
  /** Address of the HTTP server, once it listens. */
  url: () => Promise<string>;
  /**
   * Listens first, so that senders get a 503 while Kafka is unreachable, then reads the earlier requests.
   *
   * @throws MissingTopicsError when topics are missing and may not be created
   */
  start: () => Promise<void>;
  close: () => Promise<void>;
}

const MAX_CONNECTIONS = 2_000;
const CLOSE_IDLE_EVERY_MS = 100;
/** Time into a stop; the whole stop takes at most ten seconds. */
const CUT_AFTER_MS = 8_000;
const logger = new Logger('Ingest');

/** Creates the program from its settings; nothing runs before {@link Ingest.start}. */
export async function createIngest(settings: IngestSettings): Promise<Ingest> {
  const tls = settings.tls?.value;
  const app = await createHttpApp(IngestModule.with(settings), {
    bodyLimit: MAX_BODY_BYTES,
    maxConnections: MAX_CONNECTIONS,
    headers: DATA_HEADERS,
    tls: tls && secureContext(tls),
    logger: jsonLogger(settings.logLevel),
    bodyParser: false,
    fastify: { ...REFUSED_ADDRESSES, forceCloseConnections: 'idle', return503OnClosing: false },
  });
  app.useGlobalFilters(new ApiErrorFilter());
  const instance = app.getHttpAdapter().getInstance();
  const { server } = instance;
  addAdmission(app);
  // a sender that reused its connection could lose an answer
  let isClosing = false;
  instance.addHook('onSend', (_, reply, payload, done) => {
    if (isClosing) void reply.header('connection', 'close');
    done(null, payload);
  });
  app.get(SenderAccess).onCertificate = (renewed) => {
    if (server instanceof TlsServer) server.setSecureContext(secureContext(renewed));
  };
  return {
    unsupported: settings.unsupported,
    url: () => app.getUrl(),
    start: async () => {
      await app.listen(settings.http.port, settings.http.host);
      logger.log({ msg: 'listening', url: await app.getUrl() });
      app.get(Callbacks).startFlows();
      await app.get(RequestWriter).startWriting();
    },
    close: async () => {
      isClosing = true;
      // a kept-alive connection becomes idle once its last request is answered
      const stopClosing = everyRealMs(CLOSE_IDLE_EVERY_MS, () => server.closeIdleConnections());
      // ends connections amid a body, before the whole stop is cut short and Kafka is not left
      const cancelCut = afterRealMs(CUT_AFTER_MS, () => server.closeAllConnections());
      await app.close();
      stopClosing();
      cancelCut();
    },
  };
}

function secureContext({ cert, key, clientCa }: IngestTls) {
  const byCertificate = { ca: clientCa, requestCert: true, rejectUnauthorized: false };
  return { cert, key, ...(clientCa !== undefined && byCertificate) };
}
