import { HttpException } from '@nestjs/common';

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
