import type { ValidationError } from 'class-validator';

/** What class-validator found, one sentence each, with the path of a nested field in front. */
export function validationProblems(errors: readonly ValidationError[], path = ''): string[] {
  return errors.flatMap(({ property, constraints, children }) => [
    ...Object.values(constraints ?? {}).map((problem) => `${path}${problem}`),
    ...validationProblems(children ?? [], `${path}${property}.`),
  ]);
}
