import { readMetrics } from '../costs.mjs';
import { addLoad, costsOf, untilAllPublished } from '../drain.mjs';
import { IDOC_BYTES, idocOf } from '../idoc.mjs';
import { produce } from '../kafka/produce.mjs';
import { lastOrdinals, machinesByTurns, ORDERS } from '../load.mjs';
import { callFaults, faultsOf, ratePerSecond, requireNone, WrongResult } from '../outcomes.mjs';
import { outcomeCount, startBridge } from '../programs.mjs';
import { untilHealthy } from '../../start/app-process.mjs';
import { inputEnds, readOutcomes, withTrial } from '../trial.mjs';

const MACHINES = 5000;
const ORDERS_IN_ALL = 100_000;
const IDOCS = 6000;
const IDOCS_AT_ONCE = 60;
// only the flow of orders, so that start and memory are those of orders
const SETTINGS = { BRIDGE_FLOWS: 'work-orders' };

export const orders = {
  name: 'orders',
  title: `${ORDERS_IN_ALL.toLocaleString('en-US')} orders on ${MACHINES.toLocaleString('en-US')} machines: taken in, and restored`,
  async round(bench, figures) {
    const count = bench.scaled(ORDERS_IN_ALL);
    const machineOf = machinesByTurns(MACHINES);
    await withTrial(bench, { flow: ORDERS, machines: MACHINES }, async (trial) => {
      await bench.step('taken in', () =>
        takeIn(trial, figures, { count, machineOf, ...CANONICAL }),
      );
      await bench.step('restored', () => restore(trial, figures, count));
    });
    await withTrial(bench, { flow: ORDERS, machines: MACHINES }, (trial) => {
      const idocs = { count: bench.scaled(IDOCS), machineOf, ...AS_IDOC };
      return bench.step(AS_IDOC.of, () => takeIn(trial, figures, idocs));
    });
  },
};

const CANONICAL = {
  of: 'taken in',
  atLeast: 15_000,
  valueOf: (machineId, number) => JSON.stringify(ORDERS.message(machineId, number)),
};
const AS_IDOC = {
  of: `taken in as IDocs of ${IDOC_BYTES / 1000} kB`,
  atLeast: 300,
  valueOf: idocOf,
  atOnce: IDOCS_AT_ONCE,
};

async function takeIn(trial, figures, { of, atLeast, count, machineOf, valueOf, atOnce }) {
  // numbered from 1, because SAP has no order 0
  const record = (index) => ({
    key: String(index + 1),
    value: valueOf(machineOf(index), index + 1),
  });
  await produce(trial.kafka, trial.input, count, record, atOnce);
  const app = await trial.start(startBridge(trial, { settings: SETTINGS }));
  const run = await costsOf(trial, app, outcomeCount(trial), count);
  await untilAllPublished(trial, [app], count);
  const report = await trial.service.report();
  const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
  const lasts = lastOrdinals(ORDERS, count, machineOf);
  for (const machineId of Object.keys(lasts)) lasts[machineId] += 1;
  // An order that comes after a newer one of its machine, in another partition, does not change the head of the list.
  const faults = await callFaults(trial.service, lasts, { mayRepeat: true });
  requireNone([...faultsOf(outcomes, { ends }), ...faults]);
  figures.add(of, 'messages a second', ratePerSecond(outcomes), { atLeast });
  figures.add(of, 'CPU a message, µs', run.cpuUs, {
    digits: 1,
  });
  figures.add(of, 'calls', report.calls);
  figures.add(of, 'RSS, MB', (await readMetrics(app.url)).rssMb);
  addLoad(figures, of, { ...run, report });
  await app.stop();
}

/** Measures from the start of the process until it is ready; this includes joining the group, as in every restart. */
async function restore(trial, figures, count) {
  const before = await outcomeCount(trial)();
  const startMs = performance.now();
  const app = await trial.start(startBridge(trial, { settings: SETTINGS }));
  await untilHealthy(app, `${app.url}/health/ready`);
  const of = 'restored';
  const atMost = 10;
  figures.add(of, 'ready after, s', (performance.now() - startMs) / 1000, { atMost, digits: 1 });
  figures.add(of, 'RSS, MB', (await readMetrics(app.url)).rssMb, { atMost: 300 });
  const again = (await outcomeCount(trial)()) - before;
  if (again > 0) throw new WrongResult(`  ${again} of ${count} answered again after a clean stop`);
}
