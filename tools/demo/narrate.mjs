const COLOURS = {
  OPERATING: 32,
  IDLE: 33,
  OFF: 90,
  refused: 31,
  list: 36,
  reason: 35,
  callback: 34,
};
/** The order in demo/sap-loipro05-order-1895938.xml. */
const DEMO_ORDER = '1895938';
const SHORT_PERIOD_SECONDS = 6 * 60;
const SHORT_PERIODS_SHOWN = 4;
const useColour = process.stdout.isTTY === true && !process.env.NO_COLOR;

/**
 * Turns records of the bridge's topics, and callbacks of ingest to the ERP, into lines for people.
 *
 * @returns `{narrate, calledBack}`, functions that take a record and the body of a callback
 */
export function narrator({ machines, sandboxUrl, clock, topicPrefix, readJson, print }) {
  const names = new Map(
    machines.map((machine) => [
      machine.machineId,
      Object.values(machine.machineDisplayName)[0] ?? '',
    ]),
  );

  const shortPeriods = new Map();

  const line = (kind, machineId, text) => {
    const time = new Date(clock.nowSeconds() * 1000).toISOString().slice(11, 16);
    const name = (names.get(machineId) ?? '').slice(0, 20).padEnd(20);
    print(
      `${time}  ${paint(kind.padEnd(8), COLOURS[kind])} ${machineId.padEnd(6)} ${name} ${text}`,
    );
  };

  const narrate = async ({ topic, message }) => {
    const type = message.headers?.ce_type?.toString() ?? '';
    if (topic.endsWith('.dlq')) return refused(`${topicPrefix}${topic}`, message);
    const data = JSON.parse(message.value.toString());
    if (topic === 'machine.state-changes.v1') return stateChange(type, data);
    if (type === 'work-order-list.applied.v1') return listApplied(data);
    if (type === 'downtime-reason.applied.v1') return reasonApplied(data);
  };
  return { narrate, calledBack };

  function calledBack({ ARBPL_MACHINE: machineId, ...status }) {
    line('callback', machineId ?? '', `posted to the ERP: ${JSON.stringify(status)}`);
  }

  function stateChange(type, data) {
    const { machineId, state, previousState, startTime, previousStartTime } = data;
    if (type === 'machine.observation.lost.v1')
      line('state', machineId, `no longer observed: ${data.reason}`);
    if (type === 'machine.observation.restored.v1') line('state', machineId, 'observed again');
    if (state === undefined || isPassedOver(machineId, startTime - previousStartTime)) return;
    const since = `since ${timeOfDay(startTime)}`;
    const lasted =
      previousStartTime === null
        ? ''
        : `, after ${Math.round((startTime - previousStartTime) / 60)} min`;
    const from = previousState === null ? 'first seen' : coloured(previousState);
    const corrected = type === 'machine.state.corrected.v1' ? 'corrected: ' : '';
    line('state', machineId, `${corrected}${from} → ${coloured(state)}  ${since}${lasted}`);
  }

  /** Whether to omit a line: a machine that changes every other minute would hide the others after a few lines. */
  function isPassedOver(machineId, lastedSeconds) {
    const count = lastedSeconds < SHORT_PERIOD_SECONDS ? (shortPeriods.get(machineId) ?? 0) + 1 : 0;
    shortPeriods.set(machineId, count);
    if (count === SHORT_PERIODS_SHOWN + 1) {
      line('state', machineId, 'flickers: its changes go on on the topic, and are left out here');
    }
    return count > SHORT_PERIODS_SHOWN;
  }

  async function listApplied({ machineId, orderId, source }) {
    // the outcome is of an order without a machine
    if (machineId === null) return;
    const { workingOrders } = await readJson(`${sandboxUrl}/sandbox/machines/${machineId}`);
    const from = source.topic.endsWith('erp.work-orders.v1') ? nameOf(orderId) : 'ERP list';
    line('list', machineId, `${from} → the service shows [${workingOrders.join(', ')}]`);
  }

  async function reasonApplied({ machineId }) {
    const machine = await readJson(`${sandboxUrl}/sandbox/machines/${machineId}`);
    const latest = machine.classificationsReceived.at(-1);
    if (latest === undefined) return;
    const name =
      machine.reasons?.find(({ code }) => code === latest.reasonId)?.name ?? latest.reasonId;
    const end =
      (latest.endTime ?? null) === null ? 'open-ended' : `until ${timeOfDay(latest.endTime)}`;
    line(
      'reason',
      machineId,
      `${latest.reasonId} ${name}, from ${timeOfDay(latest.startTime)}, ${end}`,
    );
  }

  function refused(topic, { headers, key }) {
    const detail = `${headers['dlq-code']}: ${headers['dlq-detail']}; kept on ${topic}`;
    line('refused', key?.toString() ?? '', detail);
  }
}

function nameOf(orderId) {
  return orderId === DEMO_ORDER ? 'SAP order (IDoc LOIPRO05)' : `order ${orderId}`;
}

function timeOfDay(epochSeconds) {
  return new Date(epochSeconds * 1000).toISOString().slice(11, 16);
}

function coloured(state) {
  return paint(state, COLOURS[state]);
}

function paint(text, colour) {
  return useColour && colour !== undefined ? `\u001b[${colour}m${text}\u001b[0m` : text;
}
