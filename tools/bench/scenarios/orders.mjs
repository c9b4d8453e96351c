import { readMetrics } from '../costs.mjs';
import { addLoad, costsOf } from '../drain.mjs';
import { produce } from '../kafka/produce.mjs';
import { lastOrdinals, machineIdsOf, ORDERS } from '../load.mjs';
import { faultsOf, ratePerSecond } from '../outcomes.mjs';
import { startBridge } from '../programs.mjs';
import { outcomeCount } from '../progress.mjs';
import { untilHealthy } from '../../start/app-process.mjs';
import { inputEnds, readOutcomes, withTrial } from '../trial.mjs';
import { WrongResult } from '../verdict.mjs';

const MACHINES = 5000;
const ORDERS_IN_ALL = 100_000;
// orders alone are what is started with, and what its memory holds
const SETTINGS = { BRIDGE_FLOWS: 'work-orders' };

export const orders = {
  name: 'orders',
  title: `${ORDERS_IN_ALL.toLocaleString('en-US')} orders on ${MACHINES.toLocaleString('en-US')} machines: taken in, and restored`,
  async round(bench, figures) {
    const machineIds = machineIdsOf(MACHINES);
    const count = bench.scaled(ORDERS_IN_ALL);
    const machineOf = (number) => machineIds[number % MACHINES];
    await withTrial(bench, { flow: ORDERS, machines: MACHINES }, async (trial) => {
      await bench.step('taken in', () => takeIn(trial, figures, count, machineOf));
      await bench.step('restored', () => restore(trial, figures, count));
    });
  },
};

async function takeIn(trial, figures, count, machineOf) {
  await produce(trial.kafka, trial.input, count, (number) => ({
    key: String(number),
    value: JSON.stringify(ORDERS.message(machineOf(number), number)),
  }));
  const app = await trial.start(startBridge(trial, { settings: SETTINGS }));
  const run = await costsOf(trial, app, outcomeCount(trial), count);
  const report = await trial.service.report();
  const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
  await requireCorrect(trial, { outcomes, ends, lasts: lastOrdinals(ORDERS, count, machineOf) });
  const of = 'taken in';
  figures.add(of, 'messages a second', ratePerSecond(outcomes), { atLeast: 15_000 });
  figures.add(of, 'CPU a message, µs', (run.cpuSeconds.process * 1e6) / run.messages, {
    digits: 1,
  });
  figures.add(of, 'calls', report.calls);
  figures.add(of, 'RSS, MB', (await readMetrics(app.url)).rssMb);
  addLoad(figures, of, { ...run, report });
  await app.stop();
}

/** From the start of the process until it is ready: joining the group is in it, as in every restart. */
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

async function requireCorrect({ service }, { outcomes, ends, lasts }) {
  const [{ overlaps, disorders }, told] = await Promise.all([service.report(), service.lasts()]);
  const stale = Object.keys(lasts).filter((machineId) => told[machineId] !== lasts[machineId]);
  const faults = faultsOf(outcomes, { ends });
  if (overlaps > 0) faults.push(`${overlaps} calls for a machine that had one under way`);
  if (disorders > 0) faults.push(`${disorders} calls out of order`);
  if (stale.length > 0) faults.push(`${stale.length} machines without their newest order`);
  if (faults.length > 0) throw new WrongResult(faults.slice(0, 5).join('\n'));
}
