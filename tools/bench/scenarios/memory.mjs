import { setTimeout as delay } from 'node:timers/promises';
import { costsBetween, readCosts, readMetrics } from '../costs.mjs';
import { countRecords } from '../kafka/topics.mjs';
import { machinesByTurns, REASONS } from '../load.mjs';
import { startBridge, startService, untilCount } from '../programs.mjs';
import { fill, SERVICE_LATENCY_MS, withTrial } from '../trial.mjs';
import { WrongResult } from '../outcomes.mjs';

const MACHINES = 1000;
const MESSAGES = 1_000_000;
const OUTAGE_SECONDS = 60;
const SAMPLE_MS = 2000;
// enough for every machine's reasons to be known and every lane to be in use
const CALLS_BEFORE = 2000;
// the default: outcomes of waiting messages are part of the memory of an outage
const SETTINGS = { OUTCOME_DEFERRED_AFTER_SECONDS: '60' };
const OUTAGES = [
  { conduct: 'refusing', of: 'service answers 503' },
  { conduct: 'hanging', of: 'service answers nothing' },
];

export const memory = {
  name: 'memory',
  // a minute and a half each, and memory varies little
  rounds: 1,
  title: `memory while ${MESSAGES.toLocaleString('en-US')} reasons wait and the service is down`,
  async round(bench, figures) {
    await withTrial(bench, { flow: REASONS, machines: MACHINES }, async (trial) => {
      const count = bench.scaled(MESSAGES);
      const machineOf = machinesByTurns(MACHINES);
      await bench.step('producing', () => fill(trial, REASONS, count, machineOf));
      // both at the same time, because neither has much to do; each has its own group
      const found = await bench.step('both outages', () =>
        Promise.all(OUTAGES.map((outage) => runOutage(trial, outage))),
      );
      OUTAGES.forEach(({ of }, index) => addFound(figures, of, found[index], bench));
      await requireNoDeadLetters(trial);
    });
  },
};

async function runOutage(trial, { conduct }) {
  const options = { machines: MACHINES, latencyMs: SERVICE_LATENCY_MS };
  const service = await trial.start(startService(trial, options));
  const app = await trial.start(
    startBridge(trial, { group: conduct, service, settings: SETTINGS }),
  );
  const calls = async () => (await service.report()).calls;
  await untilCount(app, calls, CALLS_BEFORE);
  await service.conduct({ service: conduct });
  const start = await readCosts({ service }, app, calls);
  const memoryMb = await sampleMemory(app, trial.scaled(OUTAGE_SECONDS) * 1000);
  const end = await readCosts({ service }, app, calls);
  await service.conduct({ service: 'up' });
  await untilCount(app, calls, end.done + 1);
  const resumedAfterSeconds = (performance.now() - end.atMs) / 1000;
  return { memoryMb, resumedAfterSeconds, ...costsBetween(start, end) };
}

async function sampleMemory(app, forMs) {
  const samples = [];
  for (const startMs = performance.now(); performance.now() - startMs < forMs;) {
    await delay(SAMPLE_MS);
    samples.push((await readMetrics(app.url)).rssMb);
  }
  return samples;
}

async function requireNoDeadLetters({ admin, input }) {
  const deadLetters = await countRecords(admin, `${input}.dlq`);
  if (deadLetters > 0) throw new WrongResult(`  ${deadLetters} messages became dead letters`);
}

function addFound(figures, of, { memoryMb, resumedAfterSeconds, corePercent }, bench) {
  const afterSeconds = bench.scaled(OUTAGE_SECONDS);
  figures.add(of, `RSS after ${afterSeconds} s, MB`, memoryMb.at(-1), { atMost: 250 });
  figures.add(of, 'highest RSS meanwhile, MB', Math.max(...memoryMb));
  figures.add(of, 'bridge: % of a core meanwhile', corePercent.process);
  figures.add(of, 'calls again after it is back, s', resumedAfterSeconds, { digits: 1 });
}
