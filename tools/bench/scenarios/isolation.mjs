import {
  FIRST_SECONDS,
  MACHINES,
  MESSAGES_PER_SECOND,
  runWithBadMachine,
} from '../bad-machine.mjs';
import { OTHERS } from '../costs.mjs';
import { LISTS, REASONS } from '../load.mjs';

const PACED = 3000;
const LOSS = { atMost: 5, digits: 1 };
const FLOWS = [
  { name: 'reasons', flow: REASONS, waiting: 15_000 },
  // twenty seconds or more: within a few seconds, one wait of 3 s would dominate
  { name: 'lists', flow: LISTS, waiting: 1_500_000 },
];
const FAULTS = [
  { fault: null, name: 'all well' },
  { fault: 'slow', name: 'one answers after 3 s' },
  { fault: 'refused', name: 'one always refused' },
];

export const isolation = {
  name: 'isolation',
  title: `what one bad machine costs the other ${MACHINES - 1}: when all is waiting, and at ${MESSAGES_PER_SECOND} messages a second`,
  async round(bench, figures) {
    for (const { name, flow, waiting } of FLOWS) {
      let well;
      for (const { fault, name: faultName } of FAULTS) {
        const of = `${name}, ${faultName}`;
        const load = {
          flow,
          fault,
          waiting: bench.scaled(waiting),
          paced: bench.scaled(PACED),
        };
        const found = await bench.step(of, () => runWithBadMachine(bench, load));
        addFound(figures, of, found, well);
        well ??= found;
      }
    }
  },
};

function addFound(figures, of, { rate, firstRate, cpuUs, p50, p99, others }, well) {
  for (const [when, value, before] of [
    ['', rate, well?.rate],
    [`in the first ${FIRST_SECONDS} s: `, firstRate, well?.firstRate],
  ]) {
    figures.add(of, `${when}messages a second`, value);
    if (well) figures.add(of, `${when}loss, %`, (1 - value / before) * 100, LOSS);
  }
  figures.add(of, 'CPU a message, µs', cpuUs, { digits: 1 });
  figures.add(of, OTHERS, others);
  for (const [name, value, before] of [
    ['p50', p50, well?.p50],
    ['p99', p99, well?.p99],
  ]) {
    figures.add(of, `${name} from input to outcome, ms`, value);
    if (well) figures.add(of, `${name} growth, ms`, value - before, { atMost: 20 });
  }
}
