import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';

/** A handler that returns null has nothing to show: 204, without a body. */
@Injectable()
export class NoDataInterceptor implements NestInterceptor<unknown, unknown> {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    return next.handle().pipe(
      tap((answer) => {
        if (answer === null) context.switchToHttp().getResponse<FastifyReply>().code(204);
      }),
    );
  }
}
