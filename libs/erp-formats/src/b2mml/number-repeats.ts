/** A segment, whether its id is its own or what kind of work it is, and the ids that it makes under an id. */
export interface NamedSegment {
  id: string;
  isNamed: boolean;
  idsUnder: (id: string) => readonly string[];
}

/**
 * Segments without an id of their own go by what kind of work they are, and an order may have the same kind
 * several times: `MILL`, `MILL#2`, in order of the document. Ids that segments do have are left as they are;
 * it is a fault to give one twice.
 */
export function numberRepeats<T extends NamedSegment>(segments: readonly T[]): T[] {
  const named = segments.filter(({ isNamed }) => isNamed);
  const taken = new Set(named.flatMap(({ id, idsUnder }) => [id, ...idsUnder(id)]));
  const counts = new Map<string, number>();
  return segments.map((segment) => {
    if (segment.isNamed) return segment;
    const { id: kind, idsUnder } = segment;
    let count = counts.get(kind) ?? 1;
    let id = count === 1 ? kind : `${kind}#${count}`;
    while ([id, ...idsUnder(id)].some((each) => taken.has(each))) id = `${kind}#${(count += 1)}`;
    for (const each of [id, ...idsUnder(id)]) taken.add(each);
    counts.set(kind, count);
    return { ...segment, id };
  });
}
