import type { OperationChange, OrderOperation } from './order-operation.js';

/**
 * Operations of which a change names every place, by id; `all` where it does so for the order as a whole. An
 * entry that is known of them and that the change does not name is gone.
 */
export type ReplacedOperations = 'all' | readonly string[];

/** An operation that is done at several places is an entry for each of them, under this id. */
export function operationIdAt(operationId: string, workCentre: string): string {
  return `${operationId}/${workCentre}`;
}

interface Replacement {
  isReplaced: (entry: OperationChange) => boolean;
  /** The first entry known of the same operation: what the change does not say of a new one is as there. */
  predecessorOf: (entry: OperationChange) => OrderOperation | undefined;
}

export function replacementOf(
  known: readonly OrderOperation[],
  replaced: ReplacedOperations = [],
): Replacement {
  const operationOf = replaced === 'all' ? () => 'all' : operationAmong(new Set(replaced));
  const predecessors = new Map<string, OrderOperation>();
  for (const entry of known) {
    const operation = operationOf(entry);
    if (operation !== undefined && !predecessors.has(operation)) predecessors.set(operation, entry);
  }
  return {
    isReplaced: (entry) => operationOf(entry) !== undefined,
    predecessorOf: (entry) => predecessors.get(operationOf(entry) ?? ''),
  };
}

/**
 * By its own id, or by that without its place, which has to be the place that the entry names: `010/A` at work
 * centre B is an operation by itself.
 */
function operationAmong(ids: ReadonlySet<string>): (entry: OperationChange) => string | undefined {
  return (entry) => {
    if (ids.has(entry.operationId)) return entry.operationId;
    const id = idWithoutPlace(entry);
    return id !== undefined && ids.has(id) ? id : undefined;
  };
}

/** The operation that an entry is one place of; undefined of one that is an operation by itself. */
export function idWithoutPlace({ operationId, workCentre }: OperationChange): string | undefined {
  if (workCentre === undefined) return undefined;
  const suffix = operationIdAt('', workCentre);
  return operationId.endsWith(suffix) ? operationId.slice(0, -suffix.length) : undefined;
}
