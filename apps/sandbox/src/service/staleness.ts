import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** How far an answer is to be behind what the service knows, in seconds of its clock. */
export interface Staleness {
  /** The answer is the one of that many seconds ago. */
  lagSeconds?: number | undefined;
  /** The log shows what began within that many seconds only afterwards; until then the state before it. */
  provisionalSeconds?: number | undefined;
}

const stalenessOfCalls = new WeakMap<FastifyRequest, Staleness>();

/** To be called before the operation is carried out. */
export function answerStale(request: FastifyRequest, staleness: Staleness): void {
  stalenessOfCalls.set(request, staleness);
}

export const StalenessOfCall = createParamDecorator(
  (_: unknown, context: ExecutionContext): Staleness =>
    stalenessOfCalls.get(context.switchToHttp().getRequest<FastifyRequest>()) ?? {},
);
