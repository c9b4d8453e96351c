import { addLoad, drain } from '../drain.mjs';
import { LISTS, machineIdsOf } from '../load.mjs';
import { countByKind, ratePerSecond } from '../outcomes.mjs';
import { withTrial } from '../trial.mjs';

const MACHINES = 20_000;
const LISTS_A_MACHINE = 10;
const CPU_US = { atMost: 30, digits: 1 };

/** The machine of each message: lists of a machine come far apart, or one right after the other. */
const CASES = [
  { of: 'in waves', perSecond: 45_000, indexOf: (number, machines) => number % machines },
  {
    of: 'ten in a row',
    perSecond: 60_000,
    indexOf: (number) => Math.floor(number / LISTS_A_MACHINE),
  },
];

export const lists = {
  name: 'lists',
  title: `work order lists, ${LISTS_A_MACHINE} of each of ${MACHINES.toLocaleString('en-US')} machines, calls of 20 ms`,
  async round(bench, figures) {
    const machines = bench.scaled(MACHINES);
    const machineIds = machineIdsOf(machines);
    for (const { of, perSecond, indexOf } of CASES) {
      const machineOf = (number) => machineIds[indexOf(number, machines)];
      const count = machines * LISTS_A_MACHINE;
      const run = await bench.step(of, () =>
        withTrial(bench, { flow: LISTS, machines }, (trial) =>
          drain(trial, { flow: LISTS, machineOf, count }),
        ),
      );
      addRun(figures, of, run, perSecond);
    }
  },
};

function addRun(figures, of, run, atLeast) {
  const { applied, superseded } = countByKind(run.outcomes);
  figures.add(of, 'messages a second', ratePerSecond(run.outcomes), { atLeast });
  figures.add(of, 'CPU a message, µs', run.cpuUs, CPU_US);
  figures.add(of, 'applied', applied);
  figures.add(of, 'superseded', superseded);
  figures.add(of, 'calls', run.report.calls);
  figures.add(of, 'machines a call', run.report.machines / run.report.calls, { digits: 1 });
  addLoad(figures, of, run);
}
