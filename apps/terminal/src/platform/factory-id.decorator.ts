import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '#libs/http-api';

/** The query parameter `factoryId`; null, for all factories, where it is absent. @throws ApiError 400 */
export const FactoryId = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { query } = context.switchToHttp().getRequest<FastifyRequest>();
  const { factoryId = null } = query as { factoryId?: unknown };
  if (factoryId === null || typeof factoryId === 'string') return factoryId;
  throw new ApiError(400, 'invalid-request', 'factoryId may be given once only');
});
