import { randomUUID } from 'node:crypto';
import { Controller, Get, Header, Options, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DocumentPath, IngestSender } from '#libs/config';
import { INGEST_SENDER_HEADER, type Parsed, type Rejection } from '#libs/contracts';
import { ApiError } from '#libs/http-api';
import { type Admission, SenderAccess } from '../access/sender-access.js';
import { BridgeReader } from '../document/bridge-reader.js';
import { headerOf, type Message, readDocument, readEvents } from '../document/read-request.js';
import { type Submission, RequestWriter } from '../kafka/request-writer.js';
import { OPENAPI } from './openapi.js';

/** A request that has passed the `onRequest` hook of `admission.ts`. */
export interface AdmittedRequest extends FastifyRequest {
  admission?: Admission;
}

type Query = Record<string, unknown>;

/** Receives documents and events: 202 with the record's place once Kafka has it, 200 if it was written before. */
@Controller()
export class IntakeController {
  constructor(
    private readonly access: SenderAccess,
    private readonly reader: BridgeReader,
    private readonly writer: RequestWriter,
  ) {}

  @Post(['orders', 'lists', 'reasons'])
  async document(
    @Req() request: AdmittedRequest,
    @Query() query: Query,
    @Res() reply: FastifyReply,
  ) {
    const { sender, body, signedId } = this.verifyRequest(request);
    const dryRun = isDryRun(query);
    const path = request.routeOptions.url as DocumentPath;
    const message = valueOrThrow(readDocument(path, request.headers, body, signedId));
    const [answer] = await this.answerMessages([message], sender, dryRun, reply);
    return reply.send(answer);
  }

  @Post('events')
  async events(@Req() request: AdmittedRequest, @Query() query: Query, @Res() reply: FastifyReply) {
    const { sender, body, signedId } = this.verifyRequest(request);
    const dryRun = isDryRun(query);
    const { messages, isBatch } = valueOrThrow(
      readEvents(request.headers, body, sender.eventTypes, signedId),
    );
    if (messages.length > 1) this.access.chargeRate(sender, messages.length - 1, 1);
    const answer = await this.answerMessages(messages, sender, dryRun, reply);
    return reply.send(isBatch ? answer : answer[0]);
  }

  /** The handshake of CloudEvents webhooks; senders are identified with each event. */
  @Options(['orders', 'lists', 'reasons', 'events'])
  @Header('allow', 'POST')
  @Header('webhook-allowed-origin', '*')
  @Header('webhook-allowed-rate', '*')
  handshake(): void {
    // the headers are the answer
  }

  @Get('openapi.json')
  openApi(): typeof OPENAPI {
    return OPENAPI;
  }

  private verifyRequest(request: AdmittedRequest): {
    sender: IngestSender;
    body: Buffer;
    signedId: string | undefined;
  } {
    const { admission } = request;
    if (admission === undefined) throw new Error('a request has not been admitted');
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    this.access.verifyBody(admission, request, body);
    assertSingleIds(request);
    const { sender, needsSignature } = admission;
    const signedId = needsSignature ? headerOf(request.headers, 'webhook-id') : undefined;
    return { sender, body, signedId };
  }

  /** Reads all messages before the first is written. */
  private async answerMessages(
    messages: readonly Message[],
    sender: IngestSender,
    dryRun: boolean,
    reply: FastifyReply,
  ): Promise<unknown[]> {
    const placeOf = (index: number): string => (messages.length > 1 ? `event ${index}: ` : '');
    if (dryRun) {
      void reply.status(200);
      return Promise.all(messages.map((message, index) => this.preview(message, placeOf(index))));
    }
    this.writer.assertAccepting();
    const submissions: { id: string; submission: Submission; where: string }[] = [];
    for (const [index, message] of messages.entries()) {
      const where = placeOf(index);
      const { key } = valueOrThrow(await this.reader.readMessage(message), where);
      submissions.push({ ...submissionOf(message, key, sender), where });
    }
    this.assertOneBodyPerId(submissions);
    const written = await Promise.all(
      submissions.map(async ({ id, submission, where }) => {
        const { place, isRepeated } = await this.writer
          .submitRequest(submission)
          .catch(throwWithEvent(where));
        return { answer: { id, ...place }, isRepeated };
      }),
    );
    void reply.status(written.every(({ isRepeated }) => isRepeated) ? 200 : 202);
    return written.map(({ answer }) => answer);
  }

  /**
   * Checks a batch before any of it is written: an event whose id has another body, in the batch or written before,
   * never could be.
   *
   * @throws ApiError 422
   */
  private assertOneBodyPerId(
    submissions: readonly { submission: Submission; where: string }[],
  ): void {
    if (submissions.length < 2) return;
    const bodies = new Map<string, Submission>();
    for (const { submission, where } of submissions) {
      const { id, topic, compact } = submission;
      if (id === undefined) continue;
      const name = JSON.stringify(id);
      const { topic: firstTopic = topic, compact: first = compact } = bodies.get(name) ?? {};
      if (topic !== firstTopic || !compact.equals(first)) {
        const message = 'another body is in this batch with the same id';
        throw new ApiError(422, 'id-reused', where + message);
      }
      bodies.set(name, submission);
      try {
        this.writer.assertNotReused(submission);
      } catch (error) {
        throwWithEvent(where)(error);
      }
    }
  }

  private async preview(message: Message, where: string): Promise<unknown> {
    const { key, preview } = valueOrThrow(await this.reader.readMessage(message), where);
    const topic = this.writer.prefix + message.topic;
    return { topic, key, reading: valueOrThrow(await preview(), where) };
  }
}

function submissionOf(
  { topic, value, compact = value, headers, id: given, signedId }: Message,
  key: string,
  sender: IngestSender,
): { id: string; submission: Submission } {
  const id = given?.value ?? randomUUID();
  // an event contains its id
  const isEvent = given !== undefined && given.source !== '';
  const repeated = signedId === undefined ? given : { source: '', value: signedId };
  return {
    id,
    submission: {
      ...{ topic, value, compact, key: key === '' ? null : key },
      headers: [
        ...headers,
        ...(isEvent ? [] : [['message-id', id] as const]),
        [INGEST_SENDER_HEADER, sender.name],
      ],
      id: repeated && {
        scope: JSON.stringify([sender.name, repeated.source]),
        value: repeated.value,
      },
      answerWithinMs: sender.answerWithinMs,
    },
  };
}

const DRY_RUN = /^dry[-_]?run$/i;
/** Not `foundry`. */
const LIKE_DRY_RUN = /(^|[^a-z])dry|dry[^a-z]*run/i;

/**
 * Accepts any spelling of the parameter, such as `dryRun`, and refuses what only resembles it, such as `dry-run[]`: a
 * dry run must never write. Other parameters, which gateways and clients add, mean nothing.
 *
 * @throws ApiError 400
 */
function isDryRun(query: Query): boolean {
  const parameters = Object.entries(query).filter(([name]) => LIKE_DRY_RUN.test(name));
  for (const [name, value] of parameters) {
    if (typeof value === 'string' && DRY_RUN.test(name)) continue;
    const message = `the parameter ${name} is unknown or repeated: it is dry-run, once`;
    throw new ApiError(400, 'invalid-request', message);
  }
  return parameters.some(([, value]) => value !== 'false');
}

/** Headers that name a message. */
const NAMING = /^(idempotency-key|webhook-id|ce-.+)$/;

/** Node joins the values of a repeated header, to a name that the sender never gave. @throws ApiError 400 */
function assertSingleIds({ raw }: AdmittedRequest): void {
  const names = raw.rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const repeated = names.find((name, at) => NAMING.test(name) && names.indexOf(name) !== at);
  if (repeated === undefined) return;
  throw new ApiError(400, 'invalid-message', `the header ${repeated} is there twice`);
}

/** Adds to an error the event of a batch that it concerns. */
function throwWithEvent(where: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, retryAfterSeconds } = error;
    throw new ApiError(error.getStatus(), code, where + message, retryAfterSeconds);
  };
}

/** @throws ApiError 413 or 400 with the reason */
function valueOrThrow<T>(read: Parsed<T>, where = ''): T {
  if (read.ok) return read.value;
  const { code, detail }: Rejection = read.rejection;
  throw new ApiError(code === 'too-large' ? 413 : 400, code, where + detail);
}
