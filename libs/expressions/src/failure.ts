import type { Limits } from './limits.js';

/** Why an expression fails: a code of JSONata or of evaluator.js, and the character. Quotes no value. */
export interface Failure {
  code?: string | undefined;
  position?: number | undefined;
}

/** Takes only code and position from a thrown error: the library's messages quote values of the document. */
export function failureOf(error: unknown): Failure {
  const { code, position } = (error ?? {}) as { code?: unknown; position?: unknown };
  return {
    code: typeof code === 'string' ? code : undefined,
    position: typeof position === 'number' ? position : undefined,
  };
}

/** A failure as the text of a rejection. */
export function describeFailure({ code, position }: Failure, limits: Limits): string {
  const isLibrarys = /^[A-Z]\d{4}$/.test(code ?? '');
  const fault = isLibrarys ? `JSONata error ${code}` : 'it fails';
  const place = position === undefined ? '' : ` at character ${position}`;
  const reason = reasonOf(code, limits);
  return `${fault}${place}${reason === undefined ? '' : `: ${reason}`}`;
}

function reasonOf(code: string | undefined, limits: Limits): string | undefined {
  switch (code) {
    case 'D1011':
      return `it recurses deeper than ${limits.levels} levels`;
    case 'D1012':
      return `it takes longer than ${limits.deadlineMs} ms`;
    case 'D2014':
      return 'a range is too long';
    case 'D2015':
      return `a list grows longer than ${limits.entries} entries`;
    case 'eval':
      return '$eval is not available';
    case 'function':
      return 'its result has a function: call it, with parentheses behind its name';
    case 'range':
      return 'a text, a list or a recursion grows too large';
    case 'result':
      return `its result is longer than ${limits.resultLength} characters of JSON`;
    default:
      return undefined;
  }
}
