import { machineIndexOf } from '../load.mjs';

const REASONS = Buffer.from(
  JSON.stringify({
    reasons: [
      { name: 'Tool change', code: '11' },
      { name: 'Material missing', code: '22' },
      { name: 'Maintenance', code: '31' },
    ],
  }),
);

const FACTORIES = 25;
const MISSING = { status: 422 };

/**
 * The six operations of the interface document, by method and path. Each yields `{status, body?}`. A read of a state
 * adds `reads`, the machine's index (and `shownChanges`, how many changes, if it is of the current state). A write adds
 * `{writes}`: `{machineId, ordinal}` of each machine; the ordinal is the number that the bench has put into the message
 * (see ../load.mjs).
 */
export function operationsOf(machineIds, timelines) {
  const directory = Buffer.from(JSON.stringify(machineIds.map(machineInfo)));
  const readDirectory = () => ({ status: 200, body: directory });
  const listReasons = ({ query }) =>
    machineIdIn(query) ? { status: 200, body: REASONS } : MISSING;
  return new Map([
    ['GET /api/v1/mahcineInfo', readDirectory],
    ['GET /api/v1/MahcineInfo', readDirectory],
    ['GET /api/v1/machineState', ({ query }) => machineState(timelines, query)],
    ['POST /api/v1/machineActivity', ({ body }) => activity(timelines, body)],
    ['GET /api/v1/machineClassifications', listReasons],
    ['POST /api/v1/machineClassifications', listReasons],
    ['POST /api/v1/machineClassification', ({ body }) => ({ writes: [classification(body)] })],
    ['PUT /api/v1/workOrderList', ({ body }) => ({ writes: body.machines.map(assignment) })],
  ]);
}

function machineIdIn(query) {
  return new URLSearchParams(query).get('machineId');
}

function machineInfo(machineUniqueId, index) {
  const factory = (index % FACTORIES) + 1;
  return {
    machineDisplayName: { en: `Milling centre ${machineUniqueId}, hall ${(index % 7) + 1}` },
    machineUniqueId,
    factoryId: `F-${factory}`,
    factoryName: `Factory ${factory}`,
  };
}

function machineState(timelines, query) {
  const machineId = machineIdIn(query);
  if (!machineId) return MISSING;
  const machine = machineIndexOf(machineId);
  const { shownChanges, body } = timelines.state(machine, Date.now() / 1000);
  return { status: 200, body: JSON.stringify(body), reads: { machine, shownChanges } };
}

function activity(timelines, { machineId, ...window }) {
  if (!machineId) return MISSING;
  const machine = machineIndexOf(machineId);
  const entries = timelines.activity(machine, window, Date.now() / 1000);
  return { status: 200, body: JSON.stringify(entries), reads: { machine } };
}

function classification({ machineId, startTime }) {
  return { machineId, ordinal: startTime };
}

function assignment({ machineId, workingOrders }) {
  return { machineId, ordinal: Number(workingOrders[0]) };
}
