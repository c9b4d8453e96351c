import {
  applyDecorators,
  type ArgumentMetadata,
  type CallHandler,
  Controller,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UnprocessableEntityException,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { isJsonObject } from '#libs/contracts';
import { validationProblems } from '../http/validation-problems.js';

/**
 * Checks a query or body against its class. JSON that is not a valid request is a 422, the interface's status for
 * missing and contradicting fields. Unknown fields are tolerated.
 */
@Injectable()
class RequestPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      stopAtFirstError: true,
      exceptionFactory: (errors) =>
        new UnprocessableEntityException(validationProblems(errors).join('; ')),
    });
  }

  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'body' && value !== undefined && !isJsonObject(value)) {
      throw new UnprocessableEntityException('the body must be a JSON object');
    }
    return super.transform(value, metadata) as Promise<unknown>;
  }
}

/** Answers 204 without a body where a handler returns null. */
@Injectable()
class NoDataInterceptor implements NestInterceptor<unknown, unknown> {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    return next.handle().pipe(
      tap((answer) => {
        if (answer === null) context.switchToHttp().getResponse<FastifyReply>().code(204);
      }),
    );
  }
}

/** A controller of operations under the version segment of the interface. */
export function ServiceController(tag: string): ClassDecorator {
  return applyDecorators(
    ApiTags(tag),
    Controller('api/v1'),
    UsePipes(RequestPipe),
    UseInterceptors(NoDataInterceptor),
  );
}
