import { setTimeout as delay } from 'node:timers/promises';
import { costsBetween, readCosts, readMetrics } from '../costs.mjs';
import { percentile } from '../statistics.mjs';
import { isCorrection, publicationSeconds } from './change-events.mjs';
import { bucketQuantile, readLateness } from './lateness.mjs';
import { changeSome, startPolling, untilAllPolled, untilPublished } from './plant-trial.mjs';
import { firstPollMs, fullRateMs, pollTurns } from './poll-turns.mjs';
import { pollsAcross } from './polls-across.mjs';

const INTERVALS = 2;
const SAMPLE_SECONDS = 10;
const FULL_RATE_FOR_MS = 5000;
const FULL_RATE_WITHIN_MS = 60_000;
const ASK_AGAIN_MS = 1000;

/** Starts the first bridge; resolves when it has seen every machine and published all of them. */
export async function startFirst(plant, name) {
  const app = await startPolling(plant, name);
  await untilAllPolled(plant, app);
  await untilPublished(plant, app);
  return app;
}

/** Watches two intervals without changes, after one to settle: `pollTurns`, the costs, and the highest RSS in MB. */
export async function watchSteady(plant, app) {
  const { service, machines } = plant;
  const intervalMs = plant.intervalSeconds * 1000;
  const polled = async () => (await service.report()).polls;
  await delay(intervalMs);
  const [before, lateBefore] = [await service.report(), await readLateness(app.url)];
  const [start, fromMs] = [await readCosts(plant, app, polled), Date.now()];
  const toMs = fromMs + INTERVALS * intervalMs;
  const rssMb = await highestRssMb(app, toMs, plant.scaled(SAMPLE_SECONDS) * 1000);
  const costs = costsBetween(start, await readCosts(plant, app, polled));
  const latenessSeconds = bucketQuantile(lateBefore, await readLateness(app.url), 0.99);
  const report = await service.report();
  const logsRead = report.activityLogs - before.activityLogs;
  const turns = pollTurns(await service.polls(), { machines, intervalMs, fromMs, toMs });
  const due = machines * INTERVALS;
  return { ...costs, turns, due, rssMb, latenessSeconds, logsRead, report };
}

/** Changes some machines, and measures the time until that is published, see {@link publicationSeconds}. */
export async function watchChanges(plant, app) {
  const fromMs = Date.now();
  await changeSome(plant);
  await untilPublished(plant, app);
  const options = { fromMs, updateSeconds: plant.intervalSeconds };
  const seconds = publicationSeconds(plant.events, await plant.service.polls(), options);
  return { ...seconds, corrections: plant.events.filter(isCorrection).length };
}

/** Replaces the bridge by another one while machines change: seconds from the start of the new one. */
export async function watchRestart(plant, app) {
  const stoppedMs = Date.now();
  await changeSome(plant);
  await app.stop();
  const startedMs = Date.now();
  const next = await startPolling(plant, 'restarted');
  await untilAllPolled(plant, next);
  await untilPublished(plant, next);
  const caller = (await plant.service.report()).callers.indexOf('restarted');
  const atFullRateMs = await untilFullRate(plant, caller, startedMs);
  const polls = await plant.service.polls();
  const { moved } = pollsAcross(polls, { machines: plant.machines, fromMs: stoppedMs });
  return {
    firstPollAfter: (firstPollMs(polls, caller) - startedMs) / 1000,
    fullRateAfter: (atFullRateMs - startedMs) / 1000,
    longestWithout: percentile(moved, 1) / 1000,
  };
}

/** When polls came at the full rate; if they did not within a minute, the time that has passed. */
async function untilFullRate({ service, machines, intervalSeconds }, caller, startedMs) {
  const perSecond = machines / intervalSeconds;
  const forMs = Math.min(FULL_RATE_FOR_MS, intervalSeconds * 500);
  for (;;) {
    const atMs = fullRateMs(await service.polls(), caller, { perSecond, forMs });
    if (!Number.isNaN(atMs)) return atMs;
    if (Date.now() - startedMs > FULL_RATE_WITHIN_MS) return Date.now();
    await delay(ASK_AGAIN_MS);
  }
}

async function highestRssMb(app, untilMs, everyMs) {
  let highest = 0;
  while (Date.now() < untilMs) {
    await delay(Math.min(everyMs, untilMs - Date.now()));
    highest = Math.max(highest, (await readMetrics(app.url)).rssMb);
  }
  return highest;
}
