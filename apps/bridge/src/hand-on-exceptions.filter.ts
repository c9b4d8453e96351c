import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { throwError } from 'rxjs';

/**
 * Hands what a message handler throws back to the consumer, which knows an abort from a bug; Nest's own
 * filter would log every message that a stop cuts short as an error. HTTP keeps Nest's answers.
 */
@Catch()
export class HandOnExceptionsFilter extends BaseExceptionFilter implements ExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): unknown {
    if (host.getType() === 'rpc') return throwError(() => error);
    super.catch(error, host);
    return undefined;
  }
}
