import { addLoad, costsOf } from './drain.mjs';
import { faultsOf, ratePerSecond } from './outcomes.mjs';
import { startBare } from './programs.mjs';
import { outcomeCount } from './progress.mjs';
import { fill, inputEnds, readOutcomes, withTrial } from './trial.mjs';
import { requireNone } from './verdict.mjs';

const OF = 'its libraries alone';

/**
 * The same load for the libraries without the bridge, and how many times what they take a message the bridge takes.
 *
 * @param bridge what {@link drain} yields of the bridge's own run
 */
export async function addBareRun(bench, figures, { flow, machines, bridge, ...load }) {
  const { count, machineOf, calls } = load;
  const run = await bench.step(OF, () =>
    withTrial(bench, { flow, machines }, async (trial) => {
      await fill(trial, flow, count, machineOf);
      const app = await trial.start(startBare(trial, flow.family, calls));
      const costs = await costsOf(trial, app, outcomeCount(trial), count);
      const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
      requireNone(faultsOf(outcomes, { ends }));
      return { outcomes, report: await trial.service.report(), ...costs };
    }),
  );
  figures.add(OF, 'messages a second', ratePerSecond(run.outcomes));
  figures.add(OF, 'CPU a message, µs', cpuMicrosOf(run), { digits: 1 });
  figures.add(OF, 'machines a call', run.report.machines / run.report.calls, { digits: 1 });
  addLoad(figures, OF, run);
  const times = cpuMicrosOf(bridge) / cpuMicrosOf(run);
  figures.add('bridge against them', 'times the CPU', times, { digits: 2 });
}

function cpuMicrosOf({ cpuSeconds, messages }) {
  return (cpuSeconds.process * 1e6) / messages;
}
