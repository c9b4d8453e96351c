import { addBareRuns } from '../bare-run.mjs';
import { addLoad, costsOf, drain } from '../drain.mjs';
import { machineIdsOf, REASONS } from '../load.mjs';
import { ratePerSecond } from '../outcomes.mjs';
import { startBaseline } from '../programs.mjs';
import { fill, withTrial } from '../trial.mjs';

const MACHINES = 1000;
// one at a time of each of six partitions, 20 ms each: nothing to be gained from more
const BASELINE_MESSAGES = 1500;
// Nine tenths and seven eighths of what the service could take at 20 ms a call; at that pace messages for half a
// minute, of which the second that a new process takes to become fast is little.
const CASES = [
  { concurrency: 64, perSecond: 2880, messages: 90_000 },
  { concurrency: 128, perSecond: 5600, messages: 180_000 },
];
const CPU_MS = { atMost: 0.16, digits: 3 };
const BASELINE = "Nest's own Kafka transport";

export const reasons = {
  name: 'reasons',
  title: `downtime reasons of ${MACHINES.toLocaleString('en-US')} machines, each a call of 20 ms, 6 partitions`,
  async round(bench, figures) {
    const machineIds = machineIdsOf(MACHINES);
    const load = { flow: REASONS, machineOf: (number) => machineIds[number % MACHINES] };
    const rates = [];
    let last;
    for (const { concurrency, perSecond, messages } of CASES) {
      const of = `${concurrency} calls at a time`;
      const settings = { MACHINE_CLOUD_MAX_CONCURRENCY: String(concurrency) };
      const count = bench.scaled(messages);
      const run = await bench.step(of, () =>
        withTrial(bench, { flow: REASONS, machines: MACHINES }, (trial) =>
          drain(trial, { ...load, count, settings }),
        ),
      );
      rates.push(addRun(figures, of, run, perSecond));
      last = {
        ...load,
        kind: 'reasons',
        machines: MACHINES,
        count,
        calls: concurrency,
        bridge: run,
      };
    }
    await addBareRuns(bench, figures, last);
    const baseline = await bench.step(BASELINE, () => runBaseline(bench, load));
    addBaseline(figures, baseline, rates);
  },
};

function addRun(figures, of, run, atLeast) {
  const rate = ratePerSecond(run.outcomes);
  figures.add(of, 'messages a second', rate, { atLeast });
  figures.add(of, 'CPU a call, ms', (run.cpuSeconds.process * 1000) / run.messages, CPU_MS);
  figures.add(of, 'most calls in flight', run.report.peakInFlight);
  addLoad(figures, of, run);
  return rate;
}

function runBaseline(bench, { machineOf }) {
  return withTrial(bench, { flow: REASONS, machines: MACHINES }, async (trial) => {
    const count = bench.scaled(BASELINE_MESSAGES);
    await fill(trial, REASONS, count, machineOf);
    const app = await trial.start(startBaseline(trial));
    const calls = async () => (await trial.service.report()).calls;
    const costs = await costsOf(trial, app, calls, count);
    return { ...costs, count, report: await trial.service.report() };
  });
}

function addBaseline(figures, run, rates) {
  const rate = run.count / run.report.seconds;
  figures.add(BASELINE, 'messages a second', rate);
  figures.add(BASELINE, 'CPU a call, ms', (run.cpuSeconds.process * 1000) / run.messages, {
    digits: 3,
  });
  CASES.forEach(({ concurrency }, index) => {
    const times = rates[index] / rate;
    figures.add(`bridge against it, ${concurrency} calls`, 'times as fast', times, { digits: 1 });
  });
  addLoad(figures, BASELINE, run);
}
