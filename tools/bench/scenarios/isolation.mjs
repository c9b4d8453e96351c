import { costsOf } from '../drain.mjs';
import { OTHERS } from '../costs.mjs';
import { producePaced } from '../kafka/produce.mjs';
import { lastOrdinals, LISTS, machineIdsOf, REASONS, recordsOf } from '../load.mjs';
import { latenciesMs, ratePerSecond, requireCorrect, WrongResult } from '../outcomes.mjs';
import { outcomeCount, startBridge, untilCount, untilQuiet } from '../programs.mjs';
import { percentile } from '../statistics.mjs';
import { fill, inputEnds, readInputTimes, readOutcomes, withTrial } from '../trial.mjs';

const MACHINES = 500;
const MESSAGES_PER_SECOND = 500;
/** The bridge knows the bad machine from its first bad answer on, at the latest after 3 s. */
const FIRST_SECONDS = 4;
// the second one becomes bad at a time when the bridge has learnt nothing about it
const [FIRST_BAD, SECOND_BAD] = [123, 223];

const machineIds = machineIdsOf(MACHINES);
const machineOf = (number) => machineIds[number % MACHINES];
const bad = new Set([machineIds[FIRST_BAD], machineIds[SECOND_BAD]]);
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

/**
 * Runs the fault twice with one bridge: against a backlog, then with another bad machine at a pace that the bridge can
 * follow.
 *
 * `fault` is one of the service's stub, or null; `waiting` messages are the backlog, `paced` messages come after it.
 * Yields `rate` and `firstRate` of the good machines (a second; over all and in the first seconds of the backlog),
 * their `p50` and `p99` (ms), and of the backlog `cpuUs` a message and `others`: percent of a core that other programs
 * used.
 */
function runWithBadMachine(bench, { flow, fault, waiting, paced }) {
  return withTrial(bench, { flow, machines: MACHINES }, async (trial) => {
    await trial.service.conduct({ badMachine: machineIds[FIRST_BAD], fault });
    await fill(trial, flow, waiting, machineOf);
    const backlogEnds = await inputEnds(trial);
    const app = await trial.start(startBridge(trial, {}));
    const costs = await untilDone(trial, app, { before: 0, count: waiting });

    await trial.service.conduct({ badMachine: machineIds[SECOND_BAD], fault });
    const pace = { first: waiting, count: paced, perSecond: MESSAGES_PER_SECOND };
    await producePaced(trial.kafka, trial.input, pace, recordsOf(flow, machineOf));
    await untilDone(trial, app, { before: waiting, count: paced });
    await requireDisturbed(trial, fault);
    const found = await evaluate(trial, { flow, backlogEnds, count: waiting + paced });
    return { ...found, cpuUs: costs.cpuUs, others: costs.corePercent.others };
  });
}

/**
 * Waits for the good machines' messages, and then repairs the bad machine, so that the rest does not take minutes.
 * Yields the costs of the good machines' messages.
 */
async function untilDone(trial, app, { before, count }) {
  const ofTheBadOne = Math.ceil(count / MACHINES);
  const costs = await costsOf(trial, app, outcomeCount(trial), before + count - ofTheBadOne);
  await untilQuiet(trial);
  await trial.service.conduct({ badMachine: null });
  await untilCount(app, outcomeCount(trial), before + count);
  await untilQuiet(trial);
  return costs;
}

async function requireDisturbed({ service }, fault) {
  const { misbehaved } = await service.report();
  if (fault !== null && misbehaved === 0) throw new WrongResult('  the fault never came to bear');
}

async function evaluate(trial, { flow, backlogEnds, count }) {
  const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
  const lasts = lastOrdinals(flow, count, machineOf);
  for (const machineId of bad) delete lasts[machineId];
  await requireCorrect(trial, { outcomes, ends, lasts, mayBeRejected: bad });
  const good = outcomes.filter(({ machineId }) => !bad.has(machineId));
  const ofBacklog = ({ partition, offset }) => offset < backlogEnds[partition];
  const sentAt = await readInputTimes(trial, backlogEnds);
  const paced = good.filter((outcome) => !ofBacklog(outcome));
  const latencies = latenciesMs(paced, sentAt);
  const drained = good.filter(ofBacklog);
  return {
    rate: ratePerSecond(drained),
    firstRate: ratePerSecond(drained, FIRST_SECONDS),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}
