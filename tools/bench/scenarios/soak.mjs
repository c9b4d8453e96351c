import { setTimeout as delay } from 'node:timers/promises';
import { costsBetween, readCosts, readMetrics } from '../costs.mjs';
import { addLoad } from '../drain.mjs';
import { producePaced } from '../kafka/produce.mjs';
import { readRecords } from '../kafka/read-records.mjs';
import { createTopics } from '../kafka/topics.mjs';
import { lastOrdinals, LISTS, machineIdOf, REASONS, recordsOf } from '../load.mjs';
import { callFaults, readOutcome, requireNone } from '../outcomes.mjs';
import { startBridge, untilCount } from '../programs.mjs';
import { changeSome, untilPublished, withPlant } from '../states/plant-trial.mjs';
import { CHANGING_ONE_IN } from '../states/plant.mjs';
import { median } from '../statistics.mjs';

const MINUTES = 30;
const MACHINES = 3000;
const KINDS = 3;
const PER_SECOND = 50;
const SAMPLE_MS = 5000;
/** The first part is the start; the bench compares the second and the last. */
const PARTS = 6;
const MAX_DRIFT = { atMost: 2, digits: 1 };
const OUTCOMES = 'machine.command-outcomes.v1';
const CHANGED_FROM = 1_760_000_000;

/**
 * Releases and completes a machine's one order in turn, so that the bridge has nothing more to remember as time passes.
 */
const ordersByTurns = (machines) => ({
  topic: 'erp.work-orders.v1',
  message: (machineId, number) => {
    const turn = Math.floor(number / machines);
    const status = turn % 2 === 0 ? 'released' : 'completed';
    const operations = [{ operationId: '0010', machineId, status }];
    return { orderId: machineId.slice(2), changedAt: CHANGED_FROM + turn, status, operations };
  },
});

export const soak = {
  name: 'soak',
  title: `${MINUTES} minutes of all flows: ${MACHINES.toLocaleString('en-US')} machines polled, ${PER_SECOND * KINDS} messages a second`,
  // takes long
  rounds: 1,
  async round(bench, figures) {
    const seconds = bench.scaled(MINUTES * 60);
    const count = seconds * PER_SECOND;
    await withPlant(bench, { machines: MACHINES }, async (plant) => {
      const sent = sentTo(plant.machines, count);
      const topics = [...sent.map(({ topic }) => topic), OUTCOMES];
      await createTopics(
        plant.admin,
        topics.map((topic) => plant.prefix + topic),
      );
      const settings = {
        BRIDGE_FLOWS: 'work-orders,downtime-reasons,machine-states',
        POLL_INTERVAL_SECONDS: String(plant.intervalSeconds),
      };
      const app = await plant.start(startBridge(plant, { settings }));
      await untilPublished(plant, app);
      const samples = await bench.step('all flows', () => watch(plant, app, seconds, sent));
      const expected = count * KINDS;
      await untilCount(app, async () => (await readMetrics(app.url)).outcomes, expected);
      await untilPublished(plant, app);
      addFound(figures, samples, await plant.service.report());
      await requireAllDone(plant, sent);
    });
  },
};

/** Each kind of message has its own machines, because the service checks that a machine's numbers rise. */
function sentTo(machines, count) {
  const ofEach = Math.floor(machines / KINDS);
  return [REASONS, LISTS, ordersByTurns(ofEach)].map((flow, kind) => {
    const machineOf = (number) => machineIdOf(kind * ofEach + (number % ofEach));
    return { topic: flow.topic, flow, machineOf, count };
  });
}

/** Sends for `seconds`, changes machines, and takes samples: costs, and `rssMb`. */
async function watch(plant, app, seconds, sent) {
  const sending = sent.map(({ topic, flow, machineOf, count }) => {
    const paced = { first: 0, count, perSecond: PER_SECOND };
    return producePaced(plant.kafka, plant.prefix + topic, paced, recordsOf(flow, machineOf));
  });
  const samples = [];
  const startMs = performance.now();
  const changeEveryMs = (seconds * 1000) / CHANGING_ONE_IN;
  for (let passedMs = 0; passedMs < seconds * 1000; passedMs = performance.now() - startMs) {
    if (passedMs >= changeEveryMs * plant.firsts.length) await changeSome(plant);
    const costs = await readCosts(plant, app, async () => 0);
    samples.push({ ...costs, rssMb: (await readMetrics(app.url)).rssMb });
    await delay(SAMPLE_MS);
  }
  await Promise.all(sending);
  return samples;
}

function addFound(figures, samples, report) {
  const size = Math.floor(samples.length / PARTS);
  const part = (index) => samples.slice(index * size, (index + 1) * size);
  const [early, late] = [part(1), part(PARTS - 1)];
  const rss = (some) => median(some.map(({ rssMb }) => rssMb));
  const percentMore = (after, before) => (after / before - 1) * 100;
  const costs = (some) => costsBetween(some[0], some.at(-1));
  const of = 'all flows';
  figures.add(of, 'RSS in the second sixth, MB', rss(early));
  figures.add(of, 'RSS in the last sixth, MB', rss(late));
  figures.add(of, 'RSS: % more', percentMore(rss(late), rss(early)), MAX_DRIFT);
  figures.add(of, 'highest RSS, MB', Math.max(...samples.map(({ rssMb }) => rssMb)));
  figures.add(of, 'CPU a message with its polls, second sixth, µs', costs(early).cpuUs);
  figures.add(of, 'CPU a message with its polls, last sixth, µs', costs(late).cpuUs);
  addLoad(figures, of, { ...costs(late), report });
}

async function requireAllDone(plant, sent) {
  const numbered = sent.filter(({ flow }) => flow.ordinal !== undefined);
  const lasts = numbered.map(({ flow, count, machineOf }) => lastOrdinals(flow, count, machineOf));
  const faults = await callFaults(plant.service, Object.assign({}, ...lasts));
  const outcomes = await readRecords(plant, plant.prefix + OUTCOMES, readOutcome);
  const expected = sent.reduce((sum, { count }) => sum + count, 0);
  const done = outcomes.filter(({ kind }) => kind === 'applied' || kind === 'superseded').length;
  if (done !== expected) faults.push(`${done} of ${expected} messages applied or superseded`);
  if (outcomes.length !== done) faults.push(`${outcomes.length - done} other outcomes`);
  requireNone(faults);
}
