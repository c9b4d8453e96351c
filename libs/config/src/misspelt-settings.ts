const MOST_EDITS = 2;
/** Minimum length of a name for a match by one edit, and by two: shorter names are similar by chance. */
const SHORTEST_NAMES = [8, 13];
/** Settings of other programs and of OpenTelemetry. */
const KNOWN_OTHERWISE = /^(https?_proxy$|OTEL_)/i;

/**
 * Variables that are set and differ by one or two characters, or in their unit, from one of `names` that is not set.
 * `meant` is the most similar name, or several: `A or B`.
 */
export function misspeltSettings(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): { name: string; meant: string }[] {
  const isSet = (name: string): boolean => (environment[name]?.trim() ?? '') !== '';
  const unset = names.filter((name) => !isSet(name));
  return Object.keys(environment)
    .filter((name) => isSet(name) && !names.includes(name) && !KNOWN_OTHERWISE.test(name))
    .flatMap((name) => {
      const stem = stemOf(name);
      const alike = unset.filter((known) => stemOf(known) === stem);
      if (alike.length > 0) return [{ name, meant: alike.join(' or ') }];
      const edits = unset.map((known) => editDistance(name, known));
      for (const [index, shortest] of SHORTEST_NAMES.entries()) {
        const meant = unset.filter(
          (known, place) => known.length >= shortest && edits[place] === index + 1,
        );
        if (meant.length > 0) return [{ name, meant: meant.join(' or ') }];
      }
      return [];
    });
}

/** A name without its unit or `_FILE`. */
function stemOf(name: string): string {
  return name.replace(/_(FILE|SECONDS|MS|BYTES)$/, '');
}

/**
 * Number of characters to insert, delete, replace or swap with the next (optimal string alignment); more than
 * {@link MOST_EDITS} as soon as that is sure: a pod has hundreds of variables, one for each port of each service.
 */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST_EDITS) return MOST_EDITS + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const costs = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      costs.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (costs[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    // A swap skips a row.
    if (Math.min(...last, ...costs) > MOST_EDITS) return MOST_EDITS + 1;
    [beforeLast, last] = [last, costs];
  }
  return last[b.length] ?? 0;
}
