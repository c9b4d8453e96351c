// The messages of the bench. Each carries its number in a field that the service sees, as `ordinal`. A machine's
// ordinals rise, so the service can check the order of its messages and which came last.

const ORDINAL_OF_FIRST_REASON = 1_760_000_000;

export function machineIdsOf(machines) {
  return Array.from({ length: machines }, (_, index) => machineIdOf(index));
}

/** Assigns the machines to numbers in turn. */
export function machinesByTurns(machines) {
  const machineIds = machineIdsOf(machines);
  return (number) => machineIds[number % machines];
}

export function machineIdOf(index) {
  return `M-${String(index + 1).padStart(5, '0')}`;
}

/** The inverse of machineIdOf. */
export function machineIndexOf(machineId) {
  return Number(machineId.slice(2)) - 1;
}

export const REASONS = {
  topic: 'mes.downtime-reasons.v1',
  family: 'downtime-reason',
  ordinal: (number) => ORDINAL_OF_FIRST_REASON + number,
  message: (machineId, number) => {
    const startTime = ORDINAL_OF_FIRST_REASON + number;
    return { machineId, reasonId: '11', startTime, endTime: startTime + 600 };
  },
};

export const LISTS = {
  topic: 'erp.work-order-lists.v1',
  family: 'work-order-list',
  ordinal: (number) => number,
  message: (machineId, number) => ({ machineId, workingOrders: [`${number}`, `${number}-0010`] }),
};

const MOST_ORDERS = 1_000_000;

/** Each number is a separate order. A machine's newest order comes first on its list, as the ordinal. */
export const ORDERS = {
  topic: 'erp.work-orders.v1',
  family: 'work-order-list',
  ordinal: (number) => number,
  message: (machineId, number) => ({
    orderId: `${number}`,
    changedAt: 1_760_000_000,
    status: 'released',
    operations: [
      { operationId: '0010', machineId, status: 'released', sequence: MOST_ORDERS - number },
    ],
  }),
};

/** Makes the Kafka message of a number, for the machine that `machineOf` returns. */
export function recordsOf(flow, machineOf) {
  return (number) => {
    const machineId = machineOf(number);
    return { key: machineId, value: JSON.stringify(flow.message(machineId, number)) };
  };
}

/** The ordinal of each machine's last message among the first `count`. */
export function lastOrdinals(flow, count, machineOf) {
  const lasts = {};
  for (let number = 0; number < count; number += 1) lasts[machineOf(number)] = flow.ordinal(number);
  return lasts;
}
