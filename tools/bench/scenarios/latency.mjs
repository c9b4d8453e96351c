import { untilHealthy } from '../../start/app-process.mjs';
import { addLoad, costsOf } from '../drain.mjs';
import { followRecords } from '../kafka/read-records.mjs';
import { producePaced } from '../kafka/produce.mjs';
import { lastOrdinals, LISTS, machinesByTurns, REASONS, recordsOf } from '../load.mjs';
import { readOutcome, requireCorrect } from '../outcomes.mjs';
import { outcomeCount, startBridge, untilCount } from '../programs.mjs';
import { inputEnds, withTrial } from '../trial.mjs';

const MACHINES = 1000;
const MESSAGES_PER_SECOND = 500;
// half a minute, and the second or two that a new process takes to become fast
const MESSAGES = 15_000;
const WARM_UP = 2500;
const TARGETS = { p99: { atMost: 300 } };
const FLOWS = [
  { name: 'reasons', flow: REASONS },
  { name: 'lists', flow: LISTS },
  { name: 'lists, 60 partitions', flow: LISTS, partitions: 60 },
];

export const latency = {
  name: 'latency',
  title: `from the service's answer to the readable outcome, at ${MESSAGES_PER_SECOND} messages a second`,
  async round(bench, figures) {
    const machineOf = machinesByTurns(MACHINES);
    for (const { name, flow, partitions } of FLOWS) {
      const { latencies, ...run } = await bench.step(name, () =>
        withTrial(bench, { flow, machines: MACHINES, partitions }, (trial) =>
          followPaced(trial, { flow, machineOf, count: WARM_UP + bench.scaled(MESSAGES) }),
        ),
      );
      figures.addSpread(name, 'from answer to readable outcome, ms', latencies, TARGETS);
      figures.add(name, 'CPU a message, µs', run.cpuUs);
      addLoad(figures, name, run);
    }
  },
};

/**
 * Measures from the service's answer until a consumer that reads committed records has the outcome. A machine's writes
 * and its applied messages come in the same order, so the nth answer belongs to the nth outcome.
 */
async function followPaced(trial, { flow, machineOf, count }) {
  const app = await trial.start(startBridge(trial, {}));
  await untilHealthy(app, `${app.url}/health/ready`);
  await trial.service.conduct({ keepsAnswers: true });
  const outcomes = [];
  const following = await followRecords(trial, trial.outcomes, (message) => {
    outcomes.push({ ...readOutcome({ message }), readMs: Date.now() });
  });
  try {
    const record = recordsOf(flow, machineOf);
    const produced = (first, length) =>
      producePaced(
        trial.kafka,
        trial.input,
        { first, count: length, perSecond: MESSAGES_PER_SECOND },
        record,
      );
    await produced(0, WARM_UP);
    const before = await inputEnds(trial);
    const [costs] = await Promise.all([
      costsOf(trial, app, outcomeCount(trial), count),
      produced(WARM_UP, count - WARM_UP),
    ]);
    await untilCount(app, async () => outcomes.length, count);
    const [report, ends] = [await trial.service.report(), await inputEnds(trial)];
    const lasts = lastOrdinals(flow, count, machineOf);
    await requireCorrect(trial, { outcomes, ends, lasts });
    const answers = await trial.service.answers();
    const latencies = outcomes
      .filter(({ kind }) => kind === 'applied')
      .map((outcome) => ({ ...outcome, answeredMs: answers[outcome.machineId].shift() }))
      .filter(({ partition, offset }) => offset >= before[partition])
      .map(({ readMs, answeredMs }) => readMs - answeredMs);
    return { latencies, report, ...costs };
  } finally {
    await following.stop();
  }
}
