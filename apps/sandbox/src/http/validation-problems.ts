import type { ValidationError } from 'class-validator';

/** What class-validator found, one sentence each, with the path of a nested field in front. */
export function validationProblems(errors: readonly ValidationError[], path = ''): string[] {
  return errors.flatMap(({ property, value, constraints, children = [] }) => {
    // what an absent field is not, such as a number below 0, helps nobody; Nest leaves out what has faults within it
    const isAbsent = value === undefined && children.length === 0;
    if (isAbsent) return [`${path}${property} is missing`];
    return [
      ...Object.values(constraints ?? {}).map((problem) => `${path}${problem}`),
      ...validationProblems(children, `${path}${property}.`),
    ];
  });
}
