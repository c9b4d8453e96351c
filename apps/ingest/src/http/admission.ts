import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SENDER_PATHS, type SenderPath } from '#libs/config';
import { answerWithError, ApiError } from '#libs/http-api';
import { SenderAccess } from '../access/sender-access.js';
import { IngestMetrics } from './ingest-metrics.js';
import type { AdmittedRequest } from './intake.controller.js';

/** The largest body of any sender. */
export const BODY_LIMIT = 1_048_576;
/** Bodies that are being received or written, together; those without a length count as the largest. */
const MAX_BODIES_BYTES = 128 * BODY_LIMIT;

/** Admits requests before their bodies are read, bounds the bodies together, and measures each request. */
export function addAdmission(app: NestFastifyApplication): void {
  const access = app.get(SenderAccess);
  const metrics = app.get(IngestMetrics);
  const instance = app.getHttpAdapter().getInstance();
  const reserved = new WeakMap<object, number>();
  let bodiesBytes = 0;
  instance.addHook('onRequest', (request: AdmittedRequest, reply, done) => {
    if (request.is404) {
      // Later its body would be received first, of whoever sends it.
      answerWithError(
        reply,
        new ApiError(404, 'not-found', `Cannot ${request.method} ${request.url}`),
      );
      return;
    }
    const path = senderPath(request.routeOptions.url);
    if (path === undefined) {
      done();
      return;
    }
    try {
      request.admission = access.admit(request, path);
      if (request.headers['content-encoding'] !== undefined) {
        throw new ApiError(415, 'unsupported-encoding', 'send bodies without content-encoding');
      }
      const bytes = bodyBytes(request);
      if (bodiesBytes + bytes > MAX_BODIES_BYTES) {
        throw new ApiError(503, 'busy', 'too much is being received', 1);
      }
      bodiesBytes += bytes;
      reserved.set(request, bytes);
      done();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // The body is passed over: senders that are cut off in it get no answer, but a broken connection.
      answerWithError(reply, error);
    }
  });
  const release = (request: AdmittedRequest): void => {
    bodiesBytes -= reserved.get(request) ?? 0;
    reserved.delete(request);
  };
  instance.addHook('onRequestAbort', (request: AdmittedRequest, done) => {
    release(request);
    done();
  });
  // There is no response to a sender that has left meanwhile.
  instance.addHook('onSend', (request: AdmittedRequest, reply, payload, done) => {
    release(request);
    // Fastify would cut off a sender amid what is too large
    if (reply.statusCode === 413) void reply.removeHeader('connection');
    done(null, payload);
  });
  instance.addHook('onResponse', (request: AdmittedRequest, reply, done) => {
    const path = senderPath(request.routeOptions.url);
    if (path !== undefined && path !== '/metrics') {
      const sender = request.admission?.sender.name ?? 'unknown';
      metrics.answered(sender, path, reply.statusCode, reply.elapsedTime / 1000);
    }
    done();
  });
}

/** A request that names neither length nor encoding has no body. */
function bodyBytes({ headers }: AdmittedRequest): number {
  return headers['transfer-encoding'] === undefined
    ? Number(headers['content-length'] ?? 0)
    : BODY_LIMIT;
}

function senderPath(url: string | undefined): SenderPath | undefined {
  return SENDER_PATHS.find((path) => path === url);
}
