/** An expression, the JSON that it is evaluated on, and what its variables stand for. */
export interface EvaluationRequest {
  expression: string;
  input: string;
  variables: Record<string, string | number | null>;
}

/** The result as JSON, undefined where there is none; or what is wrong, without quoting what it is evaluated on. */
export type Evaluation = { ok: true; json: string | undefined } | { ok: false; fault: string };

/** What knows the language of expressions and evaluates them, within limits of its own. */
export interface Expressions {
  /** What is wrong with an expression, and the character where. */
  faultIn(expression: string): string | undefined;
  /** Rejects once closed. */
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  close(): void;
}
