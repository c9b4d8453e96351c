import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Injectable } from '@nestjs/common';
import { Clock, realNowMs } from '#libs/clock';
import { errorBody } from '../http/error-body.js';
import {
  answerStale,
  authorise,
  type Operation,
  operationOf,
  TokenRegistry,
} from '../service/index.js';
import { type Call, CallLog } from './calls/call-log.js';
import { machineIdsOf } from './calls/machine-ids-of.js';
import { bringAbout, endOf, replaceAnswer } from './faults/bring-about.js';
import { type Fault, FaultBoard } from './faults/fault-board.js';

/** What a call weighs in the log besides its body. */
const BYTES_OF_A_CALL = 500;

interface Passage {
  call: Call;
  /** Befalls the call before it is carried out: an answer that leaves is the fault's own. */
  earlyFault?: Fault;
  /** Befalls the call after it has been carried out. */
  lateFault?: Fault;
}

/**
 * What every call of the service passes through, in this order: the log of calls, the access token,
 * then, once the body is read, the faults. Hooks and not guards, because a token is judged before
 * the body is read.
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
      if (passage) await this.meetFault(passage, request, reply);
    });
    instance.addHook('onSend', async (request, reply, payload) => {
      const passage = this.passages.get(request);
      if (!passage) return payload;
      const { call, lateFault } = passage;
      if (isCarriedOut(passage, reply)) call.carriedOutAtMs = realNowMs();
      const answer = lateFault ? await replaceAnswer(lateFault, reply, payload) : payload;
      // noted before it leaves: a caller that has its answer never sees its call as unfinished
      if (!reply.raw.destroyed) call.status = reply.statusCode;
      // a caller that has gone ended its call when it went
      call.endedAtMs ??= realNowMs();
      return answer;
    });
  }

  private admit(operation: Operation, request: FastifyRequest, reply: FastifyReply): boolean {
    const call = this.begin(operation, request);
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

  private begin(operation: Operation, request: FastifyRequest): Call {
    const bytes = Number(request.headers['content-length'] ?? 0) + BYTES_OF_A_CALL;
    return this.calls.begin(
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
        status: null,
        faultId: null,
      },
      bytes,
    );
  }

  private async meetFault(
    passage: Passage,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { call } = passage;
    call.body = call.operation === 'getAPIToken' ? null : (request.body ?? null);
    call.machineIds = machineIdsOf(request.query, request.body);
    const fault = this.faults.take(call.operation, call.machineIds);
    if (!fault) return;
    call.faultId = fault.id;
    if (fault.afterApplying === true) {
      passage.lateFault = fault;
      return;
    }
    passage.earlyFault = fault;
    answerStale(request, fault);
    await bringAbout(fault, reply);
  }
}

/** Asked when the service has its answer ready, before a late fault can spoil it. */
function isCarriedOut({ earlyFault }: Passage, { statusCode }: FastifyReply): boolean {
  const isOwnAnswer = earlyFault === undefined || endOf(earlyFault) === 'none';
  return isOwnAnswer && statusCode >= 200 && statusCode < 300;
}
