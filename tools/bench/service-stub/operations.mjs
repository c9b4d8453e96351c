const REASONS = Buffer.from(
  JSON.stringify({
    reasons: [
      { name: 'Tool change', code: '11' },
      { name: 'Material missing', code: '22' },
      { name: 'Maintenance', code: '31' },
    ],
  }),
);

/**
 * The six operations of the interface document, by method and path. Each yields `{status, body?}`, or
 * `{writes}` for what sets something: `{machineId, ordinal}` of each machine, the ordinal being the number
 * that the bench has hidden in the message (see ../load.mjs).
 */
export function operationsOf(machineIds) {
  const directory = Buffer.from(JSON.stringify(machineIds.map(machineInfo)));
  const readDirectory = () => ({ status: 200, body: directory });
  const listReasons = ({ query }) => ofMachine(query, () => REASONS);
  return new Map([
    ['GET /api/v1/mahcineInfo', readDirectory],
    ['GET /api/v1/MahcineInfo', readDirectory],
    ['GET /api/v1/machineState', ({ query }) => ofMachine(query, machineState)],
    ['POST /api/v1/machineActivity', ({ body }) => ({ status: 200, body: activity(body) })],
    ['GET /api/v1/machineClassifications', listReasons],
    ['POST /api/v1/machineClassifications', listReasons],
    ['POST /api/v1/machineClassification', ({ body }) => ({ writes: [classification(body)] })],
    ['PUT /api/v1/workOrderList', ({ body }) => ({ writes: body.machines.map(assignment) })],
  ]);
}

function ofMachine(query, answer) {
  const machineId = new URLSearchParams(query).get('machineId');
  return machineId ? { status: 200, body: answer() } : { status: 422 };
}

function machineInfo(machineUniqueId) {
  return {
    machineDisplayName: { en: `Machine ${machineUniqueId}` },
    machineUniqueId,
    factoryId: 'F-1',
    factoryName: 'Bench',
  };
}

function machineState() {
  const astUpdateTime = Math.floor(Date.now() / 1000);
  return JSON.stringify({ machineState: 'OPERATING', durationInMinutes: 60, astUpdateTime });
}

function activity({ startTime, endTime }) {
  const durationInMinutes = Math.round((endTime - startTime) / 60);
  return JSON.stringify([{ startTime, endTime, machineState: 'OPERATING', durationInMinutes }]);
}

function classification({ machineId, startTime }) {
  return { machineId, ordinal: startTime };
}

function assignment({ machineId, workingOrders }) {
  return { machineId, ordinal: Number(workingOrders[0]) };
}
