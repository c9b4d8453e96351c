import type { FastifyReply } from 'fastify';
import { realDelayMs } from '#libs/clock';
import { errorBody } from '../http/error-body.js';
import type { Fault } from './fault-board.js';

const STATUSES_WITHOUT_BODY = [204, 205, 304];

/** How a fault ends a call; `none`: the fault only delays the call. */
type FaultEnd = 'answer' | 'drop' | 'hang' | 'none';

export function endOf(fault: Fault): FaultEnd {
  if (fault.drop === true) return 'drop';
  if (fault.hang === true) return 'hang';
  return fault.status === undefined && fault.body === undefined ? 'none' : 'answer';
}

async function waitLatency(fault: Fault): Promise<void> {
  if (fault.latencyMs !== undefined) await realDelayMs(fault.latencyMs);
}

/** Sets status and headers of the fault's answer; returns its body. */
function prepareAnswer(fault: Fault, reply: FastifyReply): string {
  const status = fault.status ?? 200;
  reply.code(status).type(fault.contentType ?? 'application/json; charset=utf-8');
  if (fault.retryAfter !== undefined) reply.header('retry-after', String(fault.retryAfter));
  if (STATUSES_WITHOUT_BODY.includes(status)) return '';
  return fault.body ?? JSON.stringify(errorBody(status, `fault ${fault.id}`));
}

export async function applyFaultBefore(fault: Fault, reply: FastifyReply): Promise<void> {
  await waitLatency(fault);
  const end = endOf(fault);
  switch (end) {
    case 'none':
      return;
    case 'answer':
      await reply.send(prepareAnswer(fault, reply));
      return;
    case 'drop':
      reply.hijack();
      reply.raw.destroy();
      return;
    case 'hang':
      reply.hijack();
      return;
    default:
      end satisfies never;
  }
}

/** Applies a fault after the operation has been carried out; returns the payload to send. */
export async function applyFaultAfter(
  fault: Fault,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  await waitLatency(fault);
  const end = endOf(fault);
  switch (end) {
    case 'none':
      return payload;
    case 'answer':
      return prepareAnswer(fault, reply);
    case 'drop':
      reply.raw.destroy();
      return payload;
    case 'hang':
      return untilClosed(reply, payload);
    default:
      return end satisfies never;
  }
}

function untilClosed(reply: FastifyReply, payload: unknown): Promise<unknown> {
  return new Promise((resolve) => reply.raw.once('close', () => resolve(payload)));
}
