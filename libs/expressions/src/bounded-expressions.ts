import { Logger } from '@nestjs/common';
import jsonata from 'jsonata';
import { realDelayMs } from '#libs/clock';
import type { Evaluation, EvaluationRequest, Expressions } from '#libs/erp-formats';
import { type Ending, EvaluatorProcess } from './evaluator-process.js';
import { describeFailure, failureOf } from './failure.js';
import { type Limits, LIMITS } from './limits.js';

const MAX_ATTEMPTS = 2;
/** Pause between two attempts to start the process; doubles up to the longest. */
const START_PAUSE_MS = { first: 250, longest: 10_000 };
const logger = new Logger('Expressions');

/**
 * Evaluates JSONata in a child process, and kills it when an evaluation takes too long or needs too much memory: a
 * regular expression or a function of the library cannot be interrupted otherwise, and a thread that runs out of
 * memory ends the whole process. One evaluation at a time; the queue is bounded by the number of handlers, each with
 * one document.
 */
export class BoundedExpressions implements Expressions {
  private readonly limits: Limits;
  private evaluator: EvaluatorProcess | undefined;
  private previousEvaluation: Promise<unknown> = Promise.resolve();
  private failedStarts = 0;
  private readonly closing = new AbortController();

  /** @param program replaces evaluator.js in tests */
  constructor(
    limits: Partial<Limits> = {},
    private readonly program?: string,
  ) {
    this.limits = { ...LIMITS, ...limits };
  }

  /**
   * Waits until a process starts: a failed start is not the document's fault. Rejects if closed meanwhile, when nothing
   * is known of the document.
   */
  evaluate(request: EvaluationRequest): Promise<Evaluation> {
    const evaluation = this.previousEvaluation.then(() => this.evaluateNow(request));
    this.previousEvaluation = evaluation.catch(() => undefined);
    return evaluation;
  }

  closeEvaluator(): void {
    this.closing.abort(new Error('expressions are no longer evaluated'));
    this.evaluator?.kill();
  }

  private async evaluateNow(request: EvaluationRequest): Promise<Evaluation> {
    const { signal } = this.closing;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const used = this.evaluator?.isAlive === true ? this.evaluator : undefined;
      const ending = await this.evaluateIn(used, request);
      signal.throwIfAborted();
      if (ending.kind !== 'answer') this.evaluator = undefined;
      if (ending.kind === 'not-started') {
        await this.pauseBeforeStart(ending.how);
        attempt -= 1;
        continue;
      }
      this.failedStarts = 0;
      // a host short of memory, a bug, or memory that earlier documents have left in use
      const isAnotherFault =
        ending.kind === 'died' || (ending.kind === 'out-of-memory' && used !== undefined);
      if (!isAnotherFault || attempt === MAX_ATTEMPTS) return evaluationOf(ending, this.limits);
    }
  }

  private evaluateIn(
    used: EvaluatorProcess | undefined,
    request: EvaluationRequest,
  ): Ending | Promise<Ending> {
    try {
      this.evaluator = used ?? new EvaluatorProcess(this.limits, this.program);
    } catch (error) {
      // Node throws where memory is short, and emits an error where processes are
      return { kind: 'not-started', how: (error as Error).message };
    }
    return this.evaluator.evaluate(request);
  }

  private async pauseBeforeStart(why: string): Promise<void> {
    const msg = 'the process for expressions does not start, will try again';
    if (this.failedStarts === 0) logger.warn({ msg, why });
    const pauseMs = START_PAUSE_MS.first * 2 ** Math.min(this.failedStarts, 10);
    this.failedStarts += 1;
    await realDelayMs(Math.min(pauseMs, START_PAUSE_MS.longest), this.closing.signal);
  }
}

/** The fault of an expression and its character. Compiles the expression without evaluating it. */
export function expressionFault(expression: string): string | undefined {
  try {
    jsonata(expression);
    return undefined;
  } catch (error) {
    return describeFailure(failureOf(error), LIMITS);
  }
}

function evaluationOf(
  ending: Exclude<Ending, { kind: 'not-started' }>,
  limits: Limits,
): Evaluation {
  switch (ending.kind) {
    case 'answer':
      if (ending.failure === undefined) return { ok: true, json: ending.json };
      return { ok: false, fault: describeFailure(ending.failure, limits) };
    case 'out-of-time':
      return { ok: false, fault: `it takes longer than ${limits.deadlineMs} ms` };
    case 'out-of-memory':
      return { ok: false, fault: `it needs more than ${limits.heapMiB} MiB of memory` };
    case 'died': {
      const fault = `the process that evaluates it ended ${MAX_ATTEMPTS} times (${ending.how})`;
      return { ok: false, fault };
    }
  }
}
