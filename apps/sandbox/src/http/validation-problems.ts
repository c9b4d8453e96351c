import type { ValidationError } from 'class-validator';

/** The problems found by class-validator, one sentence each, after the path of a nested field. */
export function validationProblems(errors: readonly ValidationError[], path = ''): string[] {
  return errors.flatMap(({ property, value, constraints, children = [] }) => {
    // for an absent field, other constraints do not help; Nest omits the value of a field with nested faults
    const isAbsent = value === undefined && children.length === 0;
    if (isAbsent) return [`${path}${property} is missing`];
    return [
      ...Object.values(constraints ?? {}).map((problem) => `${path}${problem}`),
      ...validationProblems(children, `${path}${property}.`),
    ];
  });
}
