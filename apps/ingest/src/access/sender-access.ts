import { createHmac, timingSafeEqual, X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { everyRealMs, realEpochMs } from '#libs/clock';
import {
  type IngestSender,
  type IngestSettings,
  type IngestTls,
  SENDER_PATHS,
  type SenderPath,
  SettingsError,
  WatchedFiles,
} from '#libs/config';
import { MAX_BODY_BYTES } from '#libs/contracts';
import {
  ApiError,
  bearerDigests,
  isForLoopback,
  isFromPage,
  networkOf,
  ownerOf,
  RateLimit,
} from '#libs/http-api';
import { INGEST_SETTINGS } from '../platform/tokens.js';

export interface Admission {
  sender: IngestSender;
  needsSignature: boolean;
  /** False until a required signature is verified. */
  isKnown: boolean;
}

const CHECK_EVERY_MS = 1000;
const SIGNATURE_AGE_SECONDS = 300;
/** Refusals for an address: a burst, and then a rate; beyond it 429. */
const REFUSALS = { burst: 20, perSecond: 0.5 };

/** The sender of all requests to the loopback interface if no senders are configured. */
const LOCAL: IngestSender = {
  name: 'local',
  paths: new Set(SENDER_PATHS),
  eventTypes: [],
  requestsPerSecond: 100_000,
  maxBodyBytes: MAX_BODY_BYTES,
  answerWithinMs: 5000,
};

/**
 * Identifies senders by a token, a client certificate, or a signature of Standard Webhooks: the HMAC-SHA256 of
 * `<webhook-id>.<webhook-timestamp>.<body>`. Secrets are compared in constant time.
 */
@Injectable()
export class SenderAccess implements OnApplicationShutdown {
  unknownSenderCount = 0;
  private readonly logger = new Logger('Access');
  private readonly refusals = new RateLimit(REFUSALS.burst, REFUSALS.perSecond);
  private limits = new Map<string, RateLimit>();
  private senders: readonly IngestSender[] | undefined;
  private readonly stopWatching: () => void;

  constructor(@Inject(INGEST_SETTINGS) { senders, tls }: IngestSettings) {
    this.useSenders(senders?.value);
    const watched = [
      senders &&
        new WatchedFiles(senders, (value) => {
          this.useSenders(value);
          this.onSenders(value);
          this.logger.log({ msg: 'senders read again', senders: value.length });
        }),
      tls &&
        new WatchedFiles(tls, (value) => {
          assertNotExpired(value);
          this.onCertificate(value);
          this.logger.log({ msg: 'certificate read again' });
        }),
    ];
    this.stopWatching = everyRealMs(CHECK_EVERY_MS, () => {
      for (const files of watched) {
        const why = files?.checkFiles();
        if (why === undefined) continue;
        this.logger.error({ msg: 'a file cannot be used, what it held before stays', why });
      }
    });
  }

  /** Called with each certificate that replaces the last one. */
  onCertificate: (tls: IngestTls) => void = () => undefined;

  /** Called with the senders that replace the last ones. */
  onSenders: (senders: readonly IngestSender[]) => void = () => undefined;

  onApplicationShutdown(): void {
    this.stopWatching();
  }

  /** Identifies the sender, before the body is read. @throws ApiError 401 */
  identifySender(request: FastifyRequest): Admission {
    const { senders } = this;
    if (senders === undefined) {
      assertLocal(request);
      return knownSender(LOCAL);
    }
    const bearer = bearerDigests(request);
    if (bearer !== undefined) {
      const sender = ownerOf(bearer, senders);
      if (sender !== undefined) return knownSender(sender);
      throw this.refuseSender(request, 'no sender has this token');
    }
    const sender = withCertificate(senders, request);
    if (sender !== undefined) return knownSender(sender);
    if (request.headers['webhook-signature'] !== undefined) {
      return { sender: this.signerOf(request, senders), needsSignature: true, isKnown: false };
    }
    throw this.refuseSender(request, 'send a token, a client certificate or a signature');
  }

  /** Checks path, size and rate, before the body is read. @throws ApiError 401, 403, 413 or 429 */
  assertAllowed(admission: Admission, request: FastifyRequest, path: SenderPath): void {
    const { sender, needsSignature } = admission;
    if (!sender.paths.has(path)) {
      throw new ApiError(403, 'path-not-allowed', `sender ${sender.name} may not use ${path}`);
    }
    if (needsSignature && path === '/metrics') {
      const message =
        'a signature is that of a body: /metrics takes a token or a client certificate';
      throw this.refuseSender(request, message);
    }
    assertSize(sender, Number(request.headers['content-length'] ?? 0));
    // anybody could have sent it with a signature: the sender's rate is charged once that is verified
    if (!needsSignature) this.chargeRate(sender, 1);
  }

  /** Verifies a received body. @throws ApiError 401, 413 or 429 */
  verifyBody(admission: Admission, request: FastifyRequest, body: Buffer): void {
    const { sender, needsSignature } = admission;
    assertSize(sender, body.length);
    if (!needsSignature) return;
    const fault = signatureFault(sender, request, body, realEpochMs() / 1000);
    if (fault !== undefined) throw this.refuseSender(request, fault);
    admission.isKnown = true;
    this.chargeRate(sender, 1);
  }

  /** Charges a sender's rate; `taken` events of a batch were charged with its request. @throws ApiError 429 */
  chargeRate({ name, requestsPerSecond }: IngestSender, count: number, taken = 0): void {
    const limit = this.limits.get(name) ?? new RateLimit(requestsPerSecond, requestsPerSecond);
    this.limits.set(name, limit);
    const waitSeconds = limit.takeTokens(name, count, { taken });
    if (waitSeconds === 0) return;
    const message = `sender ${name} may send ${requestsPerSecond} a second`;
    throw new ApiError(429, 'too-many', message, waitSeconds);
  }

  /** The sender that claims the signature: the one that `?sender=` names, or the only one with a key. */
  private signerOf(request: FastifyRequest, senders: readonly IngestSender[]): IngestSender {
    const { sender: named } = request.query as { sender?: unknown };
    const signers = senders.filter(({ hmacKey }) => hmacKey !== undefined);
    const found = named === undefined ? signers : signers.filter(({ name }) => name === named);
    const [sender] = found;
    if (sender !== undefined && found.length === 1) return sender;
    throw this.refuseSender(request, 'name the sender of the signature with ?sender=');
  }

  private refuseSender(request: FastifyRequest, message: string): ApiError {
    this.unknownSenderCount += 1;
    const waitSeconds = this.refusals.takeTokens(networkOf(request.ip), 1);
    if (waitSeconds > 0) {
      const many = 'too many requests of nobody known from this address';
      return new ApiError(429, 'too-many', many, waitSeconds);
    }
    this.logger.warn({ msg: 'a sender is not known', address: request.ip, why: message });
    return new ApiError(401, 'unknown-sender', message);
  }

  private useSenders(senders: readonly IngestSender[] | undefined): void {
    this.senders = senders;
    this.limits = new Map();
  }
}

/** The certificate in use may still be valid. @throws SettingsError */
function assertNotExpired({ cert }: IngestTls): void {
  const { validTo } = new X509Certificate(cert);
  if (Date.parse(validTo) > realEpochMs()) return;
  throw new SettingsError([
    `INGEST_TLS_CERT_FILE names a file whose certificate expired on ${validTo}`,
  ]);
}

function knownSender(sender: IngestSender): Admission {
  return { sender, needsSignature: false, isKnown: true };
}

/** Pages of other sites may neither use a name that resolves to loopback, nor post to it. */
function assertLocal(request: FastifyRequest): void {
  if (isForLoopback(request) && !isFromPage(request)) return;
  const message =
    'without INGEST_SENDERS_FILE, requests to loopback names that no page sends are taken';
  throw new ApiError(403, 'not-local', message);
}

function assertSize({ name, maxBodyBytes }: IngestSender, bytes: number): void {
  if (bytes <= maxBodyBytes) return;
  throw new ApiError(413, 'too-large', `sender ${name} may send ${maxBodyBytes} bytes`);
}

/** The sender with this client certificate, if the authority of INGEST_TLS_CLIENT_CA_FILE has signed it. */
function withCertificate(
  senders: readonly IngestSender[],
  { raw: { socket } }: FastifyRequest,
): IngestSender | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256;
  const certificate = fingerprint?.replaceAll(':', '').toLowerCase();
  return certificate === undefined
    ? undefined
    : senders.find((sender) => sender.certificate === certificate);
}

function signatureFault(
  { hmacKey }: IngestSender,
  { headers }: FastifyRequest,
  body: Buffer,
  nowSeconds: number,
): string | undefined {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => String(headers[name] ?? ''),
  );
  if (id === '' || !/^\d{1,12}$/.test(timestamp ?? '')) {
    return 'a signature needs webhook-id and webhook-timestamp (epoch seconds)';
  }
  if (Math.abs(nowSeconds - Number(timestamp)) > SIGNATURE_AGE_SECONDS) {
    return `webhook-timestamp differs from the clock by more than ${SIGNATURE_AGE_SECONDS} s`;
  }
  if (hmacKey === undefined) return 'the sender has no key';
  // Node decodes headers as Latin-1; clients sign the bytes they send, or the UTF-8 of text sent as Latin-1
  const expected = (['latin1', 'utf8'] as const).map((encoding) =>
    createHmac('sha256', hmacKey).update(`${id}.${timestamp}.`, encoding).update(body).digest(),
  );
  // several signatures while a key is replaced
  const isRight = (signatures ?? '').split(' ').some((signature) => {
    const sent = Buffer.from(signature.replace(/^v1,/, ''), 'base64');
    return expected.some((each) => sent.length === each.length && timingSafeEqual(sent, each));
  });
  return isRight ? undefined : 'the signature is wrong';
}
