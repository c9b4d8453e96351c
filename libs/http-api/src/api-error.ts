import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

/** An error as a response: `{code, message}` with its status. */
export class ApiError extends HttpException {
  constructor(
    status: number,
    readonly code: string,
    message: string,
    /** Seconds after which it may be tried again. */
    readonly retryAfterSeconds?: number,
  ) {
    super({ code, message }, status);
  }
}

/** Codes by status, for requests that Fastify itself refuses. */
const CODES: Readonly<Record<number, string | undefined>> = {
  404: 'not-found',
  413: 'too-large',
  415: 'unsupported-media-type',
};

/** Every error becomes `{code, message}`; a bug is logged, and its message is not sent. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    if (error instanceof ApiError) {
      answerWithError(reply, error);
      return;
    }
    const status = statusOf(error);
    if (status >= 500 && !(error instanceof HttpException) && !isCutOff(error, request)) {
      this.logger.error({ msg: 'request failed', url: request.url, err: error });
    }
    void reply.status(status).send(bodyOf(error, status));
  }
}

/** Fastify option that answers errors before routing, such as an address that cannot be decoded. */
export const REFUSED_ADDRESSES = {
  frameworkErrors: (error: FastifyError, _: FastifyRequest, reply: FastifyReply): void => {
    const status = statusOf(error);
    void reply.status(status).send(bodyOf(error, status));
  },
};

export function answerWithError(reply: FastifyReply, error: ApiError): void {
  if (error.retryAfterSeconds !== undefined) {
    void reply.header('retry-after', String(error.retryAfterSeconds));
  }
  void reply.status(error.getStatus()).send(error.getResponse());
}

/** Whether the sender left within the body, or was too slow: no bug, and no answer would arrive. */
export function isCutOff(error: unknown, { raw }: FastifyRequest): boolean {
  return !raw.complete && (error as { code?: unknown }).code === 'ECONNRESET';
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  const { statusCode } = error as { statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : 500;
}

function bodyOf(error: unknown, status: number): unknown {
  // from Terminus: what is down, by name
  if (error instanceof HttpException && status === 503) return error.getResponse();
  if (status >= 500) return { code: 'failed', message: 'the request failed; the log says why' };
  return { code: CODES[status] ?? 'invalid-request', message: (error as Error).message };
}
