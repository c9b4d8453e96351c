import { applyDecorators } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBearerAuth, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { ErrorBody } from '../http/error-body.js';
import { type Operation, OPERATIONS } from './operations.js';

const CAUSES: Readonly<Record<number, string>> = {
  400: 'The body is not JSON.',
  401: 'The access token is missing or unknown.',
  403: 'Unauthorized scope request.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not application/json.',
};

/** Statuses common to all operations with a body. */
export const BODY_STATUSES = [400, 413, 415];

/**
 * Marks a handler as an operation of the service, to which tokens, faults and the log of calls apply, and documents its
 * statuses: `causes` with their own text, `statuses` with that of `CAUSES`.
 */
export function ServiceOperation(
  operation: Operation,
  documentation: { summary: string; statuses?: readonly number[]; causes?: Record<number, string> },
): MethodDecorator {
  const needsToken = OPERATIONS[operation].scope !== null;
  const common = [...(needsToken ? [401, 403] : []), ...(documentation.statuses ?? [])];
  const causes: Record<string, string> = {
    ...Object.fromEntries(common.map((status) => [status, CAUSES[status] ?? ''])),
    ...documentation.causes,
  };
  return applyDecorators(
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
