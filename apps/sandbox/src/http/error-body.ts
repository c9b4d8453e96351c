import { STATUS_CODES } from 'node:http';
import { ApiProperty } from '@nestjs/swagger';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
} from '@nestjs/common';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

/** The body of every answer from status 400 on, whose shape the interface leaves open. */
export class ErrorBody {
  @ApiProperty({ example: 422 }) statusCode!: number;
  @ApiProperty({ example: 'Unprocessable Entity' }) error!: string;
  @ApiProperty({ example: 'machineId should not be empty' }) message!: string;
}

export function errorBody(statusCode: number, message: string): ErrorBody {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Error', message };
}

/** Gives all errors the same shape, also those raised before the controllers (invalid JSON, size). */
@Catch()
export class ErrorBodyFilter implements ExceptionFilter {
  private readonly logger = new Logger(ErrorBodyFilter.name);

  catch(error: unknown, host: ArgumentsHost): void {
    const status = statusOf(error);
    if (status >= 500) this.logger.error(error);
    const message = status < 500 && error instanceof Error ? error.message : 'internal error';
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .code(status)
      .send(errorBody(status, message));
  }
}

/** Fastify option for requests that are refused before routing, such as a URL that cannot be decoded. */
export const REFUSED_ADDRESSES = {
  frameworkErrors: (error: FastifyError, _: FastifyRequest, reply: FastifyReply): void => {
    const status = statusOf(error);
    void reply.code(status).send(errorBody(status, error.message));
  },
};

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500;
}
