import { addLoad, costsOf } from './drain.mjs';
import { createTopics } from './kafka/topics.mjs';
import { faultsOf, ratePerSecond } from './outcomes.mjs';
import { startBare } from './programs.mjs';
import { outcomeCount } from './progress.mjs';
import { fill, inputEnds, readOutcomes, withTrial } from './trial.mjs';
import { requireNone } from './verdict.mjs';

const PROGRAMS = [
  { of: 'its libraries alone', isLeanest: false },
  { of: 'the least there is', isLeanest: true },
];

/**
 * The same load for the libraries without the bridge, as they are installed and at their leanest, and how many
 * times what they take a message the bridge takes.
 *
 * @param load `kind`, what bare/main.mjs calls its messages; `bridge`, what {@link drain} yields of the bridge's own
 * run
 */
export async function addBareRuns(bench, figures, { bridge, ...load }) {
  for (const { of, isLeanest } of PROGRAMS) {
    const run = await bench.step(of, () => runBare(bench, { ...load, isLeanest }));
    figures.add(of, 'messages a second', ratePerSecond(run.outcomes));
    figures.add(of, 'CPU a message, µs', cpuMicrosOf(run), { digits: 1 });
    figures.add(of, 'machines a call', run.report.machines / run.report.calls, { digits: 1 });
    addLoad(figures, of, run);
    const times = cpuMicrosOf(bridge) / cpuMicrosOf(run);
    figures.add(`bridge against ${of}`, 'times the CPU', times, { digits: 2 });
  }
}

function runBare(bench, { flow, machines, count, machineOf, ...program }) {
  return withTrial(bench, { flow, machines }, async (trial) => {
    const [state, changes] = ['bare-state', 'bare-changes'].map((name) => trial.prefix + name);
    await createTopics(bench.admin, [state, changes]);
    await fill(trial, flow, count, machineOf);
    const app = await trial.start(startBare(trial, { ...program, state, changes }));
    const costs = await costsOf(trial, app, outcomeCount(trial), count);
    const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
    requireNone(faultsOf(outcomes, { ends }));
    return { outcomes, report: await trial.service.report(), ...costs };
  });
}

function cpuMicrosOf({ cpuSeconds, messages }) {
  return (cpuSeconds.process * 1e6) / messages;
}
