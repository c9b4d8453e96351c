import { untilHealthy } from '../../start/app-process.mjs';
import { readMetrics } from '../costs.mjs';
import { addLoad, drain, untilAllPublished } from '../drain.mjs';
import { lastOrdinals, machinesByTurns, REASONS } from '../load.mjs';
import { requireCorrect, steadyRatePerSecond } from '../outcomes.mjs';
import { outcomeCount, startBridge, untilCount } from '../programs.mjs';
import { fill, inputEnds, readOutcomes, withTrial } from '../trial.mjs';

// Ten machines allow ten concurrent calls. With ten calls of 5 ms each, all cases have the same rate, some 1,800 a
// second.
const CALLS_AT_A_TIME = 10;
const LATENCY_MS = 5;
const COUNTED = 20_000;
/**
 * Reasons before the measurement: every machine has had one, for which its list of reasons was read, and the code is
 * compiled.
 */
const BEFORE = 10_000;
const USUAL = { machines: 1000, partitions: 6 };
const CASES = [
  { of: '1,000 machines, 6 partitions', ...USUAL },
  { of: '10 machines', ...USUAL, machines: 10 },
  { of: '100,000 machines', ...USUAL, machines: 100_000 },
  { of: '1 partition', ...USUAL, partitions: 1 },
  { of: '100 partitions', ...USUAL, partitions: 100 },
];
/** With more calls, more machines wait for their list of reasons at the same time. */
const FOR_MEMORY = { of: '100,000 machines, 64 calls', ...USUAL, machines: 100_000, calls: 64 };
const MOST_RSS_MB = { atMost: 350 };
const MOST_TIMES_THE_CPU = { atMost: 1.25, digits: 2 };

// so few that calls limit each process, not the cores that broker, service and three processes share
const CALLS_OF_A_PROCESS = 8;
const PROCESSES = [1, 2, 3];
const REASONS_FOR_PROCESSES = 12_000;
const PARTITIONS_OF_PROCESSES = 12;
const LEAST_TIMES_AS_FAST = { atLeast: 2.7, digits: 2 };

export const growth = {
  name: 'growth',
  title: 'the same reasons for more machines, over more partitions, and by more processes',
  async round(bench, figures) {
    let usualUs;
    for (const { of, ...load } of CASES) {
      const run = await bench.step(of, () => drainSome(bench, load));
      usualUs ??= run.cpuUs;
      figures.add(of, 'CPU a message, µs', run.cpuUs, { digits: 1 });
      if (of !== CASES[0].of)
        figures.add(of, 'times the CPU', run.cpuUs / usualUs, MOST_TIMES_THE_CPU);
      figures.add(of, 'highest RSS, MB', run.rssMb);
      addLoad(figures, of, run);
    }
    const { rssMb } = await bench.step(FOR_MEMORY.of, () => drainSome(bench, FOR_MEMORY));
    figures.add(FOR_MEMORY.of, 'highest RSS, MB', rssMb, MOST_RSS_MB);
    let alone;
    for (const processes of PROCESSES) {
      const of = processes === 1 ? '1 process' : `${processes} processes`;
      const rate = await bench.step(of, () => rateOf(bench, processes));
      alone ??= rate;
      figures.add(of, 'messages a second', rate);
      const target = processes === PROCESSES.at(-1) ? LEAST_TIMES_AS_FAST : { digits: 2 };
      if (processes > 1) figures.add(of, 'times as fast as one', rate / alone, target);
    }
  },
};

function drainSome(bench, { machines: inAll, partitions, calls = CALLS_AT_A_TIME }) {
  const machines = Math.max(CALLS_AT_A_TIME, bench.scaled(inAll));
  const before = Math.max(machines, bench.scaled(BEFORE));
  const load = {
    flow: REASONS,
    machineOf: machinesByTurns(machines),
    count: before + bench.scaled(COUNTED),
    countedFrom: before,
    settings: { MACHINE_CLOUD_MAX_CONCURRENCY: String(calls) },
  };
  const needed = { flow: REASONS, machines, partitions, latencyMs: LATENCY_MS };
  return withTrial(bench, needed, (trial) => {
    // a call is a reason; many small transactions would make offsets of outcomes count half as many again
    const progress = async () => (await trial.service.report()).calls;
    return drain(trial, { ...load, progress });
  });
}

/** The rate of processes that have their partitions before the first reason is written. */
function rateOf(bench, processes) {
  const { machines } = USUAL;
  const machineOf = machinesByTurns(machines);
  const count = bench.scaled(REASONS_FOR_PROCESSES);
  const needed = { flow: REASONS, machines, partitions: PARTITIONS_OF_PROCESSES };
  return withTrial(bench, needed, async (trial) => {
    const apps = await startGroup(trial, processes);
    await fill(trial, REASONS, count, machineOf);
    await untilCount(apps[0], outcomeCount(trial), count);
    await untilAllPublished(trial, apps, count);
    const [outcomes, ends] = [await readOutcomes(trial), await inputEnds(trial)];
    await requireCorrect(trial, { outcomes, ends, lasts: lastOrdinals(REASONS, count, machineOf) });
    return steadyRatePerSecond(outcomes);
  });
}

async function startGroup(trial, processes) {
  const group = 'bridge';
  const settings = {
    BRIDGE_FLOWS: 'downtime-reasons',
    MACHINE_CLOUD_MAX_CONCURRENCY: String(CALLS_OF_A_PROCESS),
  };
  const apps = [];
  for (let number = 1; number <= processes; number += 1) {
    const name = `${group}-${number}`;
    apps.push(await trial.start(startBridge(trial, { group, name, settings })));
  }
  for (const app of apps) await untilHealthy(app, `${app.url}/health/ready`);
  const share = PARTITIONS_OF_PROCESSES / processes;
  for (const app of apps) {
    const hasShare = async () => Number((await readMetrics(app.url)).partitions === share);
    await untilCount(app, hasShare, 1);
  }
  return apps;
}
