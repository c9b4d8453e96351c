import { costsBetween, peakRssMb, readCosts, readMetrics } from './costs.mjs';
import { lastOrdinals } from './load.mjs';
import { outcomeCount, startBridge, untilCount, untilQuiet } from './programs.mjs';
import { fill, inputEnds, readOutcomes } from './trial.mjs';
import { requireCorrect } from './outcomes.mjs';

/**
 * Fills the input, starts the bridge, and checks the results. Yields the outcomes, the service's report, the highest
 * resident set, and the costs from outcome number `countedFrom` to the last, as `progress` counts.
 */
export async function drain(
  trial,
  { flow, count, machineOf, settings, countedFrom = 1, progress = outcomeCount(trial) },
) {
  await fill(trial, flow, count, machineOf);
  const app = await trial.start(startBridge(trial, { settings }));
  const costs = await costsOf(trial, app, progress, count, countedFrom);
  await untilAllPublished(trial, [app], count);
  const [report, rssMb] = [await trial.service.report(), await peakRssMb(await app.pid)];
  const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
  await requireCorrect(trial, { outcomes, ends, lasts: lastOrdinals(flow, count, machineOf) });
  return { outcomes, report, rssMb, ...costs };
}

/** The costs from message `from`, which leaves out the start, until all `expected` messages are done. */
export async function costsOf(trial, app, count, expected, from = 1) {
  await untilCount(app, count, from);
  const start = await readCosts(trial, app, count);
  await untilCount(app, count, expected);
  return costsBetween(start, await readCosts(trial, app, count));
}

/**
 * Waits for the last outcomes. Offsets also count the ends of transactions: when there are `expected`, some outcomes
 * are still to come.
 */
export async function untilAllPublished(trial, apps, expected) {
  await untilCount(
    apps[0],
    async () => {
      const metrics = await Promise.all(apps.map(({ url }) => readMetrics(url)));
      return metrics.reduce((sum, { outcomes }) => sum + outcomes, 0);
    },
    expected,
  );
  await untilQuiet(trial);
}

/**
 * Adds the load of every process and the service's real latency, which show whether the other figures are reliable.
 * Keys of `targets` are names of processes.
 */
export function addLoad(figures, of, { corePercent, report }, targets = {}) {
  for (const [name, percent] of Object.entries(corePercent))
    figures.add(of, `${name}: % of a core`, percent, targets[name]);
  figures.add(of, 'service: its own median latency, ms', report.medianLatencyMs, { digits: 1 });
}
