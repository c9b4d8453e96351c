import { setTimeout as delay } from 'node:timers/promises';
import { peakRssMb, processCpuSeconds, readMetrics } from '../costs.mjs';
import { lastOrdinals, LISTS, machineIdsOf, REASONS } from '../load.mjs';
import { startBridge, startParallelConsumer, untilCount } from '../programs.mjs';
import { BRIDGE, LOADS, rivalName, RIVALS } from '../rivals/loads.mjs';
import { prepareParallelConsumer } from '../rivals/prepare.mjs';
import { fill, withTrial } from '../trial.mjs';
import { WrongResult } from '../outcomes.mjs';

const CALLS = 128;
const COLD = 'reasons, from cold';
const COLD_LOAD = { of: COLD, flow: REASONS, machines: 1000, count: 10_000 };
/** Each has one bad machine, which must not affect the others. */
const DISTURBED_LOADS = ['slow', 'refused'].flatMap((fault) => [
  { of: `reasons, one ${fault}`, flow: REASONS, machines: 1000, count: 50_000, fault },
  { of: `lists, one ${fault}`, flow: LISTS, machines: 1000, count: 50_000, fault },
]);
const BAD_MACHINE = 123;
const DISTURBED_FOR_MS = 60_000;
/** For each scrape of its metrics the bridge asks Kafka for the lag: more scrapes would count as its work. */
const POLL_MS = 250;
/** Targets for the bridge relative to the rival: times as fast, and times its CPU a message. */
const TARGETS = {
  'with outcomes': {
    reasons: { rate: 1.6, cpu: 0.5 },
    'lists, 30 a machine': { rate: 1.5, cpu: 0.6 },
    'lists, one a machine': { rate: 1.5, cpu: 0.6 },
  },
  'without outcomes': {
    reasons: { rate: 0.9 },
    'lists, 30 a machine': { rate: 0.9 },
    'lists, one a machine': { rate: 0.9 },
  },
};
const MOST_TIMES_FROM_COLD = 1.3;

export const rivals = {
  name: 'rivals',
  title: `the same work by Confluent's Parallel Consumer, ${CALLS} calls of 20 ms at a time`,
  async round(bench, figures) {
    await prepareParallelConsumer();
    for (const load of [...LOADS, COLD_LOAD, ...DISTURBED_LOADS]) {
      const bridge = await addRun(bench, figures, load, BRIDGE, startOurs);
      for (const kind of RIVALS) {
        const start = (trial) => startRival(trial, load, kind === 'with outcomes');
        const rival = await addRun(bench, figures, load, rivalName(kind), start);
        addRatios(figures, load, kind, bridge, rival);
      }
    }
  },
};

async function addRun(bench, figures, load, name, start) {
  const of = `${load.of}: ${name}`;
  const found = await bench.step(of, () => runProgram(bench, load, start));
  figures.add(of, 'messages a second', found.rate);
  figures.add(of, 'CPU a message with the start, µs', found.cpuUs, { digits: 1 });
  figures.add(of, 'seconds from its start to the last message', found.seconds, { digits: 1 });
  figures.add(of, 'highest RSS, MB', found.rssMb);
  if (load.fault !== undefined) figures.add(of, 'of the others, left after a minute', found.left);
  figures.add(of, 'calls out of order', found.disorders);
  figures.add(of, 'machines without their last message', found.missing);
  // a rival may lose messages; the bridge may not
  if (found.isOfBridge && found.disorders + found.missing > 0) throw new WrongResult(`  ${of}`);
  return found;
}

/**
 * Runs a program from its start until all messages except those of the bad machine are done; with a bad machine, a
 * minute at most.
 */
function runProgram(bench, { flow, machines: all, count: most, fault = null }, start) {
  const [machines, total] = [bench.scaled(all), bench.scaled(most)];
  const machineIds = machineIdsOf(machines);
  const machineOf = (number) => machineIds[number % machines];
  return withTrial(bench, { flow, machines }, async (trial) => {
    const badMachine = fault === null ? null : machineIds[BAD_MACHINE % machines];
    await trial.service.conduct({ badMachine, fault });
    await fill(trial, flow, total, machineOf);
    const startMs = performance.now();
    const { app, count, isOfBridge } = await start(trial);
    await trial.start(app);
    const ofTheBadOne = fault === null ? 0 : Math.ceil(total / machines);
    const othersDone = untilCount(app, count, total - ofTheBadOne, POLL_MS);
    await (fault === null ? othersDone : Promise.race([othersDone, delay(DISTURBED_FOR_MS)]));
    const seconds = (performance.now() - startMs) / 1000;
    const [done, report] = [await count(), await trial.service.report()];
    const pid = await app.pid;
    const [cpuSeconds, rssMb] = [await processCpuSeconds(pid), await peakRssMb(pid)];
    await trial.service.conduct({ badMachine: null });
    await othersDone;
    await untilCount(app, count, total, POLL_MS);
    return {
      isOfBridge,
      rate: done / report.seconds,
      left: Math.max(0, total - ofTheBadOne - done),
      cpuUs: (cpuSeconds * 1e6) / done,
      seconds,
      rssMb,
      ...(await faultsOf(trial, lastOrdinals(flow, total, machineOf), badMachine)),
    };
  });
}

async function faultsOf({ service }, lasts, badMachine) {
  const [{ disorders }, received] = await Promise.all([service.report(), service.lasts()]);
  const missing = Object.entries(lasts).filter(
    ([machineId, ordinal]) => machineId !== badMachine && received[machineId] !== ordinal,
  );
  return { disorders, missing: missing.length };
}

async function startOurs(trial) {
  const settings = { MACHINE_CLOUD_MAX_CONCURRENCY: String(CALLS) };
  const app = await startBridge(trial, { settings });
  const count = async () => (await readMetrics(app.url).catch(() => ({ outcomes: 0 }))).outcomes;
  return { app, count, isOfBridge: true };
}

async function startRival(trial, { flow }, withOutcomes) {
  const kind = flow === LISTS ? 'lists' : 'reasons';
  const outcomes = withOutcomes ? trial.outcomes : null;
  const app = await startParallelConsumer(trial, { kind, outcomes, calls: CALLS });
  const done = async () => Number(await (await fetch(`${app.url}/done`)).text());
  return { app, count: () => done().catch(() => 0), isOfBridge: false };
}

function addRatios(figures, { of, fault }, kind, bridge, rival) {
  if (fault !== undefined) return;
  const beside = `${of}: bridge beside ${rivalName(kind)}`;
  const target = TARGETS[kind][of];
  if (of === COLD) {
    const times = bridge.seconds / rival.seconds;
    figures.add(beside, 'times the time', times, { atMost: MOST_TIMES_FROM_COLD, digits: 2 });
    return;
  }
  const [rate, cpu] = [bridge.rate / rival.rate, bridge.cpuUs / rival.cpuUs];
  figures.add(beside, 'times as fast', rate, { atLeast: target.rate, digits: 2 });
  figures.add(beside, 'times the CPU', cpu, { atMost: target.cpu, digits: 2 });
}
