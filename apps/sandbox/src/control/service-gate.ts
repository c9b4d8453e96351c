import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Injectable } from '@nestjs/common';
import { Clock, realNowMs } from '#libs/clock';
import { errorBody } from '../http/error-body.js';
import { answerStale } from '../service/staleness.js';
import { authorise, TokenRegistry } from '../service/token-registry.js';
import type { Operation } from '../service/operations.js';
import { operationOf } from '../service/service-operation.decorator.js';
import { type Call, CallLog, machineIdsOf } from './call-log.js';
import { applyFaultAfter, applyFaultBefore, endOf } from './apply-fault.js';
import { type Fault, FaultBoard } from './fault-board.js';

/** Estimated size of a logged call without its body. */
const BYTES_OF_A_CALL = 500;

interface Passage {
  call: Call;
  fault?: Fault;
}

/**
 * Fastify hooks for every call of the service, in this order: the log of calls, the access token and, once the body is
 * read, the faults. They are hooks and not guards, because the token is checked before the body is read.
 */
@Injectable()
export class ServiceGate {
  private readonly passages = new WeakMap<FastifyRequest, Passage>();

  constructor(
    private readonly clock: Clock,
    private readonly tokens: TokenRegistry,
    private readonly calls: CallLog,
    private readonly faults: FaultBoard,
  ) {}

  install(instance: FastifyInstance): void {
    instance.addHook('onRequest', (request, reply, done) => {
      const operation = operationOf(request.routeOptions.config);
      if (operation === undefined || this.admit(operation, request, reply)) done();
    });
    instance.addHook('preHandler', async (request, reply) => {
      const passage = this.passages.get(request);
      if (passage) await this.applyFault(passage, request, reply);
    });
    instance.addHook('onSend', async (request, reply, payload) => {
      const passage = this.passages.get(request);
      if (!passage) return payload;
      const { call, fault } = passage;
      if (isCarriedOut(passage, reply)) call.carriedOutAtMs = realNowMs();
      const isLate = fault?.afterApplying === true;
      const answer = isLate ? await applyFaultAfter(fault, reply, payload) : payload;
      // logged before it is sent, so that a caller with its answer never sees its call as unfinished
      if (!reply.raw.destroyed) call.status = reply.statusCode;
      // a closed connection has set endedAtMs already
      call.endedAtMs ??= realNowMs();
      return answer;
    });
  }

  private admit(operation: Operation, request: FastifyRequest, reply: FastifyReply): boolean {
    const call = this.logCall(operation, request);
    this.passages.set(request, { call });
    reply.raw.once('close', () => {
      call.endedAtMs ??= realNowMs();
    });
    const verdict = authorise(operation, request.headers.authorization, this.tokens);
    if (verdict.allowed) return true;
    if (verdict.status === 401) reply.header('www-authenticate', 'Bearer');
    reply.code(verdict.status).send(errorBody(verdict.status, verdict.message));
    return false;
  }

  private logCall(operation: Operation, request: FastifyRequest): Call {
    return this.calls.logCall(
      {
        receivedAt: this.clock.nowSeconds(),
        startedAtMs: realNowMs(),
        endedAtMs: null,
        carriedOutAtMs: null,
        operation,
        method: request.method,
        path: request.url,
        machineIds: machineIdsOf(request.query, undefined),
        body: null,
        traceparent: request.headers['traceparent']?.toString() ?? null,
        status: null,
        faultId: null,
      },
      BYTES_OF_A_CALL,
    );
  }

  private async applyFault(
    passage: Passage,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { call } = passage;
    call.body = call.operation === 'getAPIToken' ? null : (request.body ?? null);
    // a chunked body has no content-length
    const length = request.headers['content-length'] ?? JSON.stringify(call.body).length;
    this.calls.addBytes(call, Number(length));
    call.machineIds = machineIdsOf(request.query, request.body);
    const fault = this.faults.nextFaultFor(call.operation, call.machineIds);
    if (!fault) return;
    passage.fault = fault;
    call.faultId = fault.id;
    if (fault.afterApplying === true) return;
    answerStale(request, fault);
    await applyFaultBefore(fault, reply);
  }
}

/** Whether the operation was carried out. Must be called before a late fault replaces the answer. */
function isCarriedOut({ fault }: Passage, { statusCode }: FastifyReply): boolean {
  const isOwnAnswer =
    fault === undefined || fault.afterApplying === true || endOf(fault) === 'none';
  return isOwnAnswer && statusCode >= 200 && statusCode < 300;
}
