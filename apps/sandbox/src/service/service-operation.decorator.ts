import { applyDecorators, HttpCode, RequestMapping, RequestMethod } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBearerAuth, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { ErrorBody } from '../http/error-body.js';
import { type Operation, OPERATIONS } from './operations.js';

const FOR_TOKEN = {
  401: 'The access token is missing or unknown.',
  403: 'Unauthorized scope request.',
};
const FOR_BODY = {
  400: 'The body is not JSON.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not application/json.',
};

/**
 * Makes a handler an operation of the service, to which tokens, faults and the log of calls apply. Documents its
 * statuses: those of every operation, and `causes`.
 */
export function ServiceOperation(
  operation: Operation,
  method: 'GET' | 'POST' | 'PUT',
  documentation: { summary: string; causes?: Record<number, string> },
): MethodDecorator {
  const { scope, paths } = OPERATIONS[operation];
  const needsToken = scope !== null;
  const causes: Record<string, string> = {
    ...(needsToken && FOR_TOKEN),
    ...(method !== 'GET' && FOR_BODY),
    ...documentation.causes,
  };
  return applyDecorators(
    RequestMapping({ path: [...paths], method: RequestMethod[method] }),
    HttpCode(200),
    RouteConfig({ operation }),
    ApiOperation({ summary: documentation.summary }),
    ...(needsToken ? [ApiBearerAuth()] : []),
    ...Object.entries(causes).map(([status, description]) =>
      status === '204'
        ? ApiResponse({ status: 204, description })
        : ApiResponse({ status: Number(status), description, type: ErrorBody }),
    ),
  );
}

/** The operation of a route, from its configuration; undefined for other routes. */
export function operationOf(routeConfig: unknown): Operation | undefined {
  return (routeConfig as { operation?: Operation } | undefined)?.operation;
}
