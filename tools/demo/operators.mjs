import { setTimeout as delay } from 'node:timers/promises';

const THINKING_MS = 2500;
const WRONG_AFTER_MS = 8000;
const LONG_AGO_SECONDS = 30 * 60;

/**
 * Operators of half of the machines. When a machine stops, its operator gives an open-ended reason; when it runs again,
 * the same reason follows with its end. Once, an operator types a reason that does not exist.
 */
export function createOperators({ send, machines, sandboxUrl, clock, signal, readJson }) {
  const standing = new Map();
  // every other machine is left to the user of the terminal
  const attended = new Set(
    machines.filter((_, index) => index % 2 === 1).map(({ machineId }) => machineId),
  );
  const latestStart = new Map();

  async function onRecord({ topic, message }) {
    if (topic !== 'machine.state-changes.v1') return;
    if (message.headers?.ce_type?.toString() !== 'machine.state.changed.v1') return;
    const { machineId, state, startTime } = JSON.parse(message.value.toString());
    latestStart.set(machineId, startTime);
    const open = standing.get(machineId);
    standing.delete(machineId);
    if (open !== undefined && startTime > open.startTime) {
      await give(machineId, { ...open, endTime: startTime });
    }
    if (!attended.has(machineId)) return;
    if (state === 'IDLE' && clock.nowSeconds() - startTime < LONG_AGO_SECONDS) {
      void explain(machineId, startTime).catch(() => undefined);
    }
  }

  async function explain(machineId, startTime) {
    const reasonId = await pickReason(machineId, startTime);
    if (reasonId === undefined) return;
    await delay(THINKING_MS, undefined, { signal });
    // the stop ended before the operator reached the terminal
    if (latestStart.get(machineId) !== startTime) return;
    const reason = { reasonId, startTime };
    standing.set(machineId, reason);
    await give(machineId, reason);
  }

  async function pickReason(machineId, startTime) {
    const { reasons = [] } = await readJson(`${sandboxUrl}/sandbox/machines/${machineId}`);
    return reasons.length === 0 ? undefined : reasons[startTime % reasons.length].code;
  }

  async function give(machineId, reason) {
    await send('mes.downtime-reasons.v1', machineId, { machineId, ...reason });
  }

  async function run() {
    await delay(WRONG_AFTER_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const { machineId } = machines[1];
    await give(machineId, { reasonId: 'coffee', startTime: clock.nowSeconds() - 600 });
  }

  return { onRecord, run };
}
