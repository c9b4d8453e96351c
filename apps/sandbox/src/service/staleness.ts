import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** How far an answer lags behind, in seconds of the service's clock. */
export interface Staleness {
  /** Answers with the state of this many seconds ago. */
  lagSeconds?: number | undefined;
  /** The log shows a change within this many seconds only afterwards, and until then the previous state. */
  provisionalSeconds?: number | undefined;
}

const stalenessOfCalls = new WeakMap<FastifyRequest, Staleness>();

/** Must be called before the operation is carried out. */
export function answerStale(request: FastifyRequest, staleness: Staleness): void {
  stalenessOfCalls.set(request, staleness);
}

export const StalenessOfCall = createParamDecorator(
  (_: unknown, context: ExecutionContext): Staleness =>
    stalenessOfCalls.get(context.switchToHttp().getRequest<FastifyRequest>()) ?? {},
);
