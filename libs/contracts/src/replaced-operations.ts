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
  return ({ operationId, workCentre }) => {
    if (ids.has(operationId)) return operationId;
    const suffix = operationIdAt('', workCentre ?? '');
    if (workCentre === undefined || !operationId.endsWith(suffix)) return undefined;
    const id = operationId.slice(0, -suffix.length);
    return ids.has(id) ? id : undefined;
  };
}
