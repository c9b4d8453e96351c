import type { OperationChange } from '#libs/contracts';

/** Operations of a segment, and whether the segment has an id of its own. */
export interface SegmentOperations {
  isNamed: boolean;
  operations: readonly OperationChange[];
}

/**
 * Segments without an id of their own go by what kind of work they are, and an order may have the same kind
 * several times: `MILL`, `MILL#2`, in order of the document. Ids that segments do have are left as they are;
 * it is a fault to give one twice.
 */
export function numberRepeats(segments: readonly SegmentOperations[]): OperationChange[] {
  const named = segments.filter(({ isNamed }) => isNamed);
  const taken = new Set(named.flatMap(({ operations }) => operations.map(idOf)));
  const counts = new Map<string, number>();
  const free = (id: string): string => {
    let count = counts.get(id) ?? 1;
    let candidate = count === 1 ? id : `${id}#${count}`;
    while (taken.has(candidate)) candidate = `${id}#${(count += 1)}`;
    taken.add(candidate);
    counts.set(id, count);
    return candidate;
  };
  return segments.flatMap(({ isNamed, operations }) =>
    isNamed
      ? operations
      : operations.map((operation) => ({ ...operation, operationId: free(operation.operationId) })),
  );
}

function idOf({ operationId }: OperationChange): string {
  return operationId;
}
