import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A request that is not taken: `{code, message}` with its status. */
export class Refusal extends HttpException {
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

/** By status: what Fastify refuses by itself. */
const CODES: Readonly<Record<number, string | undefined>> = { 404: 'not-found', 413: 'too-large' };

/** Every error becomes `{code, message}`; a bug is logged, and its message is not sent. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { url } = host.switchToHttp().getRequest<FastifyRequest>();
    if (error instanceof Refusal) {
      refuse(reply, error);
      return;
    }
    if (error instanceof HttpException) {
      const status = error.getStatus();
      const body = { code: CODES[status] ?? 'invalid-request', message: error.message };
      // of terminus: what is down, by name
      void reply.status(status).send(status === 503 ? error.getResponse() : body);
      return;
    }
    const { statusCode: status = 500, message } = error as { statusCode?: number; message: string };
    if (status >= 500) this.logger.error({ msg: 'request failed', url, err: error });
    const known = { code: CODES[status] ?? 'invalid-request', message };
    const failed = { code: 'failed', message: 'the request failed; the log says why' };
    void reply.status(status).send(status >= 500 ? failed : known);
  }
}

export function refuse(reply: FastifyReply, refusal: Refusal): void {
  if (refusal.retryAfterSeconds !== undefined) {
    void reply.header('retry-after', String(refusal.retryAfterSeconds));
  }
  void reply.status(refusal.getStatus()).send(refusal.getResponse());
}
