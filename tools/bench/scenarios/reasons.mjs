import { addLoad, drain } from '../drain.mjs';
import { machinesByTurns, REASONS } from '../load.mjs';
import { ratePerSecond } from '../outcomes.mjs';
import { withTrial } from '../trial.mjs';

const MACHINES = 1000;
// Nine tenths and seven eighths of what the service could take at 20 ms a call. The messages last half a minute at that
// pace, of which the second that a new process takes to become fast is little.
const CASES = [
  { concurrency: 64, perSecond: 2880, messages: 90_000 },
  { concurrency: 128, perSecond: 5600, messages: 180_000 },
];
const CPU_MS = { atMost: 0.16, digits: 3 };

export const reasons = {
  name: 'reasons',
  title: `downtime reasons of ${MACHINES.toLocaleString('en-US')} machines, each a call of 20 ms, 6 partitions`,
  async round(bench, figures) {
    const load = { flow: REASONS, machineOf: machinesByTurns(MACHINES) };
    for (const { concurrency, perSecond, messages } of CASES) {
      const of = `${concurrency} calls at a time`;
      const settings = { MACHINE_CLOUD_MAX_CONCURRENCY: String(concurrency) };
      const count = bench.scaled(messages);
      const run = await bench.step(of, () =>
        withTrial(bench, { flow: REASONS, machines: MACHINES }, (trial) =>
          drain(trial, { ...load, count, settings }),
        ),
      );
      addRun(figures, of, run, perSecond);
    }
  },
};

function addRun(figures, of, run, atLeast) {
  figures.add(of, 'messages a second', ratePerSecond(run.outcomes), { atLeast });
  figures.add(of, 'CPU a call, ms', run.cpuUs / 1000, CPU_MS);
  figures.add(of, 'most calls in flight', run.report.peakInFlight);
  addLoad(figures, of, run);
}
