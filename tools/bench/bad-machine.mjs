import { costsOf } from './drain.mjs';
import { producePaced } from './kafka/produce.mjs';
import { lastOrdinals, machineIdsOf, recordsOf } from './load.mjs';
import { latenciesMs, ratePerSecond, requireCorrect, WrongResult } from './outcomes.mjs';
import { outcomeCount, startBridge, untilCount, untilQuiet } from './programs.mjs';
import { percentile } from './statistics.mjs';
import { fill, inputEnds, readInputTimes, readOutcomes, withTrial } from './trial.mjs';

export const MACHINES = 500;
export const MESSAGES_PER_SECOND = 500;
/** The bridge can know which machine is bad from the first bad answer on: 3 s of these. */
export const FIRST_SECONDS = 4;
// the second one falls ill when the bridge has had no time to learn of it
const [FIRST_BAD, SECOND_BAD] = [123, 223];

const machineIds = machineIdsOf(MACHINES);
const machineOf = (number) => machineIds[number % MACHINES];
const bad = new Set([machineIds[FIRST_BAD], machineIds[SECOND_BAD]]);

/**
 * Twice in the life of one bridge: first against a backlog, then at a pace it can follow, with another bad machine.
 *
 * `fault` is one of the service's stub, or null; `waiting` messages are the backlog, `paced` those after it.
 * Yields of the good machines `rate` and `firstRate` (a second; over all and in the first seconds of the backlog),
 * `p50` and `p99` (ms); and of the backlog `cpuUs` a message and `others`: percent of a core that other programs took.
 */
export function runWithBadMachine(bench, { flow, fault, waiting, paced }) {
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
 * Once those of the good machines are through, the bad one is mended, so that the rest need not take minutes.
 * Yields the costs until then.
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
