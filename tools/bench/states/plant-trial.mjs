import { setTimeout as delay } from 'node:timers/promises';
import { followRecords } from '../kafka/read-records.mjs';
import { startBridge, untilCount } from '../programs.mjs';
import { withService } from '../trial.mjs';
import { requireNone } from '../outcomes.mjs';
import { faultsOfEvents, isChange, readEvent } from './change-events.mjs';
import { changesOf, changingOf } from './plant.mjs';

const STATE_CHANGES = 'machine.state-changes.v1';
const INTERVAL_SECONDS = 60;
const QUICK_INTERVAL_SECONDS = 4;
// a record that is published twice follows at once
const QUIET_MS = 1000;

/**
 * Runs `body` with a service of many machines, which updates each once in `plant.intervalSeconds` and expects as many
 * polls. `plant.events` has the published events. The result is checked at the end. In a quick run the minute is
 * shorter, and there are proportionally fewer machines, so that the calls a second are the same.
 *
 * @throws WrongResult
 */
export function withPlant(bench, options, body) {
  const intervalSeconds = bench.quick ? QUICK_INTERVAL_SECONDS : INTERVAL_SECONDS;
  const machines = Math.round((options.machines * intervalSeconds) / INTERVAL_SECONDS);
  const ofService = { topics: [STATE_CHANGES], machines, updateSeconds: intervalSeconds };
  return withService(bench, ofService, async (trial) => {
    const plant = { ...trial, machines, intervalSeconds, events: [], published: 0, firsts: [] };
    const topic = `${trial.prefix}${STATE_CHANGES}`;
    const following = await followRecords(trial, topic, (message) => {
      const event = readEvent(message);
      plant.events.push(event);
      if (isChange(event)) plant.published += 1;
    });
    try {
      await body(plant);
      await delay(QUIET_MS);
      await requireAsPublished(plant);
    } finally {
      await following.stop();
    }
  });
}

/** Starts a bridge that only polls; the service knows it by its name. */
export function startPolling(plant, name) {
  const settings = {
    BRIDGE_FLOWS: 'machine-states',
    POLL_INTERVAL_SECONDS: String(plant.intervalSeconds),
    MACHINE_CLOUD_TOKEN: name,
  };
  return plant.start(startBridge(plant, { name, settings }));
}

/** Every twentieth machine changes its state at its next update. */
export async function changeSome(plant) {
  const first = plant.firsts.length;
  plant.firsts.push(first);
  await plant.service.change({ first });
}

/** Waits until every machine has been polled from now on. */
export async function untilAllPolled({ service, machines }, app) {
  await service.conduct({ polledSinceMs: Date.now() });
  await untilCount(app, async () => (await service.report()).machinesPolled, machines);
}

/** Waits until everything is published. */
export async function untilPublished(plant, app) {
  const changes = plant.firsts.map((first) => changingOf(plant.machines, first));
  const expected = changes.reduce((sum, count) => sum + count, plant.machines);
  await untilCount(app, async () => plant.published, expected);
}

async function requireAsPublished({ service, machines, events, firsts }) {
  const { pollOverlaps } = await service.report();
  const faults = faultsOfEvents(events, {
    machines,
    changes: (machine) => changesOf(machine, firsts),
  });
  if (pollOverlaps > 0) faults.push(`${pollOverlaps} calls for a machine that had one under way`);
  requireNone(faults);
}
