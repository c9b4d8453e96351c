import { Logger } from '@nestjs/common';
import jsonata from 'jsonata';
import { realDelayMs } from '#libs/clock';
import type { Evaluation, EvaluationRequest, Expressions } from '#libs/erp-formats';
import { type Ending, EvaluatorProcess } from './evaluator-process.js';
import { describeFailure, failureOf } from './failure.js';
import { type Limits, LIMITS } from './limits.js';

const MAX_ATTEMPTS = 2;
/** Between two attempts to start the process, growing up to the longest. */
const START_PAUSE_MS = { first: 250, longest: 10_000 };
const logger = new Logger('Expressions');

/**
 * JSONata in a process of its own, which is ended where it takes too long or needs too much memory: neither a
 * regular expression nor a function of the library can be interrupted otherwise, and a thread that runs out of
 * memory takes its process along. One evaluation at a time; those that wait are as many as there are handlers,
 * each with one document.
 */
export class BoundedExpressions implements Expressions {
  private readonly limits: Limits;
  private evaluator: EvaluatorProcess | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private failedStarts = 0;
  private readonly closing = new AbortController();

  /** `program` stands in for the one that evaluates. */
  constructor(
    limits: Partial<Limits> = {},
    private readonly program?: string,
  ) {
    this.limits = { ...LIMITS, ...limits };
  }

  /**
   * Waits for a process: one that cannot be started says nothing of the document. Rejects when closed meanwhile:
   * nothing is known of the document then.
   */
  evaluate(request: EvaluationRequest): Promise<Evaluation> {
    const evaluation = this.last.then(() => this.evaluateNow(request));
    this.last = evaluation.catch(() => undefined);
    return evaluation;
  }

  close(): void {
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
      // a system short of memory, a defect, or what earlier documents have left behind in the heap
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
      // for want of memory Node throws, for want of processes it emits an error
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

/** What is wrong with an expression, and the character where. It is compiled, not evaluated. */
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
