import jsonata from 'jsonata';

import { isLinearPattern } from './is-linear-pattern.js';

/** The library's own guards (milliseconds, levels, entries), checked at each step of an evaluation. */
const LIMITS = { timeout: 1_000, stack: 500, sequence: 100_000 };

/** Where a text that doubles is stopped: the engine dies of one that is a hundred times as long. */
const MAX_TEXT_LENGTH = 4_194_304;

/** The library calls what is bound to it with each result: expression, input, environment, result. */
const EXIT_HOOK = Symbol.for('jsonata.__evaluate_exit') as unknown as string;

/** No field that an expression could want to take apart is longer. */
const MAX_MATCHED_LENGTH = 1_000;

/** What is wrong with an expression, and the character where. Never quotes what it is evaluated on. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly code = 'invalid-expression';
  readonly retryable = false;
}

export interface CompiledExpression {
  /** Rejects with an {@link ExpressionError} when it fails or exceeds a limit. */
  evaluate(input: unknown, variables: Record<string, unknown>): Promise<unknown>;
}

/** Throws {@link ExpressionError}. */
export function compileExpression(text: string): CompiledExpression {
  const expression = parse(text);
  refuseExplosivePatterns(expression.ast());
  // a document must not bring code of its own
  expression.registerFunction('eval', () => {
    throw new ExpressionError('$eval is not available');
  });
  expression.assign(EXIT_HOOK, refuseLongText);
  return {
    evaluate: async (input, variables) => {
      try {
        return (await expression.evaluate(input, variables)) as unknown;
      } catch (cause) {
        throw explain(cause);
      }
    },
  };
}

function refuseLongText(_node: unknown, _input: unknown, _scope: unknown, result: unknown): void {
  if (typeof result !== 'string' || result.length <= MAX_TEXT_LENGTH) return;
  throw new ExpressionError(`a text grows longer than ${MAX_TEXT_LENGTH} characters`);
}

/** Refuses a text that no field of an order is as long as. */
class ShortTextRegExp extends RegExp {
  override exec(text: string): RegExpExecArray | null {
    if (text.length <= MAX_MATCHED_LENGTH) return super.exec(text);
    throw new ExpressionError(
      `a regular expression is matched against more than ${MAX_MATCHED_LENGTH} characters`,
    );
  }
}

function parse(text: string): jsonata.Expression {
  try {
    return jsonata(text, { ...LIMITS, RegexEngine: ShortTextRegExp as RegExpConstructor });
  } catch (cause) {
    throw explain(cause);
  }
}

function refuseExplosivePatterns(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if (node instanceof RegExp) {
    if (isLinearPattern(node.source)) return;
    throw new ExpressionError(`the regular expression ${node.source} may take for ever to match`);
  }
  for (const part of Object.values(node)) refuseExplosivePatterns(part);
}

/** The library's messages quote values, so that its code and place have to do. */
function explain(cause: unknown): ExpressionError {
  if (cause instanceof ExpressionError) return cause;
  const { code, position } = (cause ?? {}) as { code?: unknown; position?: unknown };
  const fault = typeof code === 'string' ? `JSONata error ${code}` : 'it fails';
  const place = typeof position === 'number' ? ` at character ${position}` : '';
  const reason = typeof code === 'string' ? REASONS.get(code) : undefined;
  return new ExpressionError(`${fault}${place}${reason === undefined ? '' : `: ${reason}`}`, {
    cause,
  });
}

const REASONS = new Map([
  ['D1011', `it recurses deeper than ${LIMITS.stack} levels`],
  ['D1012', `it takes longer than ${LIMITS.timeout} ms`],
  ['D2014', 'a range is too long'],
  ['D2015', `a list grows longer than ${LIMITS.sequence} entries`],
]);
