import jsonata from 'jsonata';
import type { Evaluation, EvaluationRequest, Expressions } from '#libs/erp-formats';
import { type Ending, EvaluatorProcess } from './evaluator-process.js';
import { describeFailure, failureOf } from './failure.js';
import { type Limits, LIMITS } from './limits.js';

const MAX_ATTEMPTS = 2;

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
  private isClosed = false;

  /** `program` stands in for the one that evaluates. */
  constructor(
    limits: Partial<Limits> = {},
    private readonly program?: string,
  ) {
    this.limits = { ...LIMITS, ...limits };
  }

  /** Rejects when closed meanwhile: nothing is known of the document then. */
  evaluate(request: EvaluationRequest): Promise<Evaluation> {
    const evaluation = this.last.then(() => this.evaluateNow(request));
    this.last = evaluation.catch(() => undefined);
    return evaluation;
  }

  close(): void {
    this.isClosed = true;
    this.evaluator?.kill();
  }

  private async evaluateNow(request: EvaluationRequest): Promise<Evaluation> {
    for (let attempt = 1; ; attempt += 1) {
      this.refuseWhenClosed();
      const used = this.evaluator?.isAlive === true ? this.evaluator : undefined;
      this.evaluator = used ?? new EvaluatorProcess(this.limits, this.program);
      const ending = await this.evaluator.evaluate(request);
      this.refuseWhenClosed();
      if (ending.kind !== 'answer') this.evaluator = undefined;
      // a system short of memory, a defect, or what earlier documents have left behind in the heap
      const isAnotherFault =
        ending.kind === 'died' || (ending.kind === 'out-of-memory' && used !== undefined);
      if (!isAnotherFault || attempt === MAX_ATTEMPTS) return evaluationOf(ending, this.limits);
    }
  }

  private refuseWhenClosed(): void {
    if (this.isClosed) throw new Error('expressions are no longer evaluated');
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

function evaluationOf(ending: Ending, limits: Limits): Evaluation {
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
