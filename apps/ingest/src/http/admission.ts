import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SENDER_PATHS, type SenderPath } from '#libs/config';
import { MAX_BODY_BYTES } from '#libs/contracts';
import { answerWithError, ApiError } from '#libs/http-api';
import { SenderAccess } from '../access/sender-access.js';
import type { AdmittedRequest } from './intake.controller.js';
import { MetricsController } from './metrics.controller.js';

/** Bound of all bodies together that are being received or written. */
const MAX_BODIES_BYTES = 128 * MAX_BODY_BYTES;
/** Part of it for signed bodies, which may be anyone's until they are whole: other senders keep the rest. */
const MAX_SIGNED_BYTES = MAX_BODIES_BYTES / 2;

export function addAdmission(app: NestFastifyApplication): void {
  const access = app.get(SenderAccess);
  const metrics = app.get(MetricsController);
  const instance = app.getHttpAdapter().getInstance();
  /** Bytes held by each request with an unanswered body. */
  const heldBytes = new WeakMap<object, number>();
  let bodiesBytes = 0;
  let signedBytes = 0;
  instance.addHook('onRequest', (request: AdmittedRequest, reply, done) => {
    if (request.is404) {
      // later, the body would be received first, from anybody
      answerWithError(
        reply,
        new ApiError(404, 'not-found', `Cannot ${request.method} ${request.url}`),
      );
      return;
    }
    const path = senderPath(request.routeOptions.url);
    const isHandshake = request.method === 'OPTIONS';
    if (path === undefined || (isHandshake && !announcesBody(request))) {
      done();
      return;
    }
    try {
      // OPTIONS identifies no sender whose body could be received
      if (isHandshake) throw new ApiError(413, 'too-large', 'OPTIONS comes without a body');
      request.admission = access.identifySender(request);
      access.assertAllowed(request.admission, request, path);
      if (request.headers['content-encoding'] !== undefined) {
        throw new ApiError(415, 'unsupported-encoding', 'send bodies without content-encoding');
      }
      heldBytes.set(request, 0);
      done();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // the body is discarded: a sender cut off amid its body gets no answer, but a broken connection
      answerWithError(reply, error);
    }
  });
  const isSigned = ({ admission }: AdmittedRequest): boolean => admission?.needsSignature === true;
  const count = (request: AdmittedRequest, bytes: number): void => {
    bodiesBytes += bytes;
    if (isSigned(request)) signedBytes += bytes;
  };
  const release = (request: AdmittedRequest): void => {
    count(request, -(heldBytes.get(request) ?? 0));
    heldBytes.delete(request);
  };
  /** Counts received bytes: a slow sender's announced length must not take space from others. */
  const hold = (request: AdmittedRequest, bytes: number): ApiError | undefined => {
    const isFull =
      bodiesBytes + bytes > MAX_BODIES_BYTES ||
      (isSigned(request) && signedBytes + bytes > MAX_SIGNED_BYTES);
    if (isFull) return new ApiError(503, 'busy', 'too much is being received', 1);
    count(request, bytes);
    heldBytes.set(request, (heldBytes.get(request) ?? 0) + bytes);
    return undefined;
  };
  // raw bytes: they are signed, and go to Kafka
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (request: AdmittedRequest, payload, done) => {
    readBody(payload, (bytes) => hold(request, bytes)).then((body) => done(null, body), done);
  });
  instance.addHook('onRequestAbort', (request: AdmittedRequest, done) => {
    release(request);
    done();
  });
  // a sender that has left gets no response
  instance.addHook('onSend', (request: AdmittedRequest, reply, payload, done) => {
    release(request);
    // Fastify would cut off a sender amid a body that is too large
    if (reply.statusCode === 413) void reply.removeHeader('connection');
    done(null, payload);
  });
  instance.addHook('onResponse', (request: AdmittedRequest, reply, done) => {
    const path = senderPath(request.routeOptions.url);
    if (path !== undefined && path !== '/metrics') {
      const { admission } = request;
      const sender = admission?.isKnown ? admission.sender.name : 'unknown';
      metrics.countAnswer(sender, path, reply.statusCode, reply.elapsedTime / 1000);
    }
    done();
  });
}

/** @throws ApiError 413, or the error from `hold`; the rest of the body is discarded then */
function readBody(
  payload: IncomingMessage,
  hold: (bytes: number) => ApiError | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const onData = (piece: Buffer): void => {
      length += piece.length;
      const refusal =
        length > MAX_BODY_BYTES
          ? new ApiError(413, 'too-large', 'the body is too large')
          : hold(piece.length);
      pieces.push(piece);
      if (refusal === undefined) return;
      pieces.length = 0;
      payload.off('data', onData).resume();
      reject(refusal);
    };
    payload.on('data', onData);
    payload.on('end', () => resolve(Buffer.concat(pieces)));
    payload.on('error', reject);
  });
}

function announcesBody({ headers }: AdmittedRequest): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function senderPath(url: string | undefined): SenderPath | undefined {
  return SENDER_PATHS.find((path) => path === url);
}
