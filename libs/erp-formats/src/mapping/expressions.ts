/** An expression, the JSON that it is evaluated on, and what its variables stand for. */
export interface EvaluationRequest {
  expression: string;
  input: string;
  variables: Record<string, string | number | null>;
}

/** The result as JSON, undefined where there is none; or what is wrong, without quoting what it is evaluated on. */
export type Evaluation = { ok: true; json: string | undefined } | { ok: false; fault: string };

/** An evaluator of expressions, within limits of its own. */
export interface Expressions {
  /** Rejects once closed. */
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  close(): void;
}

/** What is wrong with an expression, and the character where; undefined for one that can be evaluated. */
export type ExpressionCheck = (expression: string) => string | undefined;
