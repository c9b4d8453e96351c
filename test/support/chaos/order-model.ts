/** An order as in the nth message: one operation or two, each on a machine. */
export interface SentOrder {
  orderId: string;
  changedAt: number;
  status: string;
  machineIds: readonly string[];
}

const LISTED = new Set(['released', 'started', 'held']);
/** The last two remove the order from every machine, until a later message brings it back. */
const STATUSES = ['released', 'started', 'held', 'released', 'completed', 'cancelled'];
const FIRST_CHANGE = 1_763_680_000;

/** The nth state of an order: the order moves from machine to machine. Different orders do not move in step. */
export function sentOrder(order: number, n: number, machineIds: readonly string[]): SentOrder {
  const at = (step: number): string => machineIds[(order * 7 + n * step) % machineIds.length] ?? '';
  return {
    orderId: `order-${String(order).padStart(4, '0')}`,
    changedAt: FIRST_CHANGE + n,
    status: STATUSES[(order + n * 5) % STATUSES.length] ?? '',
    machineIds: n % 3 === 0 ? [at(11)] : [at(11), at(17)],
  };
}

/** The value of the message. */
export function orderBody({ machineIds, ...order }: SentOrder): object {
  const operations = machineIds.map((machineId, index) => {
    return { operationId: `00${index + 1}0`, machineId, sequence: index + 1 };
  });
  return { ...order, operations };
}

/** Each machine's list, from the newest sent state of each order. */
export function listsOf(
  newest: Iterable<SentOrder>,
  machineIds: readonly string[],
): Map<string, string[]> {
  const entries = [...newest]
    .filter(({ status }) => LISTED.has(status))
    .flatMap(({ orderId, machineIds: on }) =>
      on.map((machineId, index) => {
        const several = on.filter((other) => other === machineId).length > 1;
        const entry = several ? `${orderId}-00${index + 1}0` : orderId;
        return { machineId, entry, place: `${index} ${orderId}` };
      }),
    )
    .sort((a, b) => (a.place < b.place ? -1 : 1));
  return new Map(
    machineIds.map((machineId) => [
      machineId,
      entries.filter((each) => each.machineId === machineId).map(({ entry }) => entry),
    ]),
  );
}
