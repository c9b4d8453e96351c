import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { constants, createGunzip } from 'node:zlib';
import { readMetrics } from '../costs.mjs';
import { produce, producePaced } from '../kafka/produce.mjs';
import { withTopics } from '../kafka/topics.mjs';
import { keepOnOneCore, startTerminal, untilCount } from '../programs.mjs';
import { percentile } from '../statistics.mjs';
import { openTablet, watchFrames } from '../tablet.mjs';
import { untilHealthy } from '../../start/app-process.mjs';

const MACHINES = 10_000;
const FACTORIES = 5;
const CHANGES_EACH = 20;
const PAGES = 200;
const WATCHED_SECONDS = 60;
const MACHINES_OF_A_WALL = 500;
const WALL_CHANGES_PER_SECOND = 50;
const SLOWED_DOWN = 4;
const HOURS = 3600;
const SECONDS = { digits: 2 };
const TOPICS = {
  registry: 'machine.registry.v1',
  states: 'machine.states.v1',
  reasons: 'machine.classification-reasons.v1',
  stateChanges: 'machine.state-changes.v1',
  outcomes: 'machine.command-outcomes.v1',
  downtimeReasons: 'mes.downtime-reasons.v1',
  notes: 'mes.downtime-notes.v1',
};
const REASONS = Array.from({ length: 12 }, (_, index) => ({
  name: `Reason ${index + 1}`,
  code: String(index + 1),
}));

export const terminal = {
  name: 'terminal',
  // a minute of real time; thousands of changes are measurements enough
  rounds: 1,
  title: `the terminal with ${MACHINES.toLocaleString('en-US')} machines: a restart, ${PAGES} pages at once on one core; ${MACHINES_OF_A_WALL} on a slow tablet`,
  async round(bench, figures) {
    await withTerminal(bench, bench.scaled(MACHINES), (plant) => watchPages(bench, figures, plant));
    await withTerminal(bench, MACHINES_OF_A_WALL, (plant) => watchTablet(bench, figures, plant));
  },
};

/** Runs `body` with a terminal that has just read two shifts of `machines` machines, and removes its topics. */
function withTerminal(bench, machines, body) {
  return withTopics(bench.admin, Object.values(TOPICS), async (prefix) => {
    const end = Math.floor(Date.now() / 1000);
    await bench.step('writing two shifts of changes', () => fill(bench, prefix, machines, end));
    const startMs = performance.now();
    const app = await startTerminal(bench, prefix);
    try {
      await bench.step('a start', () => untilHealthy(app, `${app.url}/health/ready`));
      const readyAfter = (performance.now() - startMs) / 1000;
      await body({ prefix, machines, app, readyAfter });
    } finally {
      await app.stop();
    }
  });
}

async function watchPages(bench, figures, { readyAfter, ...plant }) {
  const { app } = plant;
  figures.add('restart', 'ready after, s', readyAfter, { atMost: 5, ...SECONDS });
  const { cpuSeconds } = await readMetrics(app.url);
  figures.add('restart', 'CPU of reading the topics, s', cpuSeconds, SECONDS);
  figures.add('pages', 'cores that the process may use', (await keepOnOneCore(app)) ? 1 : NaN);
  const pages = [];
  try {
    await bench.step(`${PAGES} pages come at once`, async () => {
      const startMs = performance.now();
      for (let page = 1; page < PAGES; page += 1) pages.push(new Page(app.url));
      pages.push(new ReadPage(app.url));
      await Promise.all(pages.map((page) => page.begun));
      const seconds = (performance.now() - startMs) / 1000;
      figures.add('pages', 'all have all tiles after, s', seconds, SECONDS);
    });
    await bench.step('each machine changes once a minute', () =>
      watchChanges(bench, figures, { ...plant, pages }),
    );
  } finally {
    for (const page of pages) page.leave();
  }
}

/** The first load at the computer's own speed, then changes on a page that has a quarter of it. */
async function watchTablet(bench, figures, { prefix, machines, app }) {
  const tablet = await openTablet(app.url);
  if (tablet === undefined) return;
  try {
    const { bytes, paintMs, tilesMs } = tablet.load;
    figures.add('tablet', 'first paint after, ms', paintMs, { atMost: 1000 });
    figures.add('tablet', 'first tiles after, ms', tilesMs);
    figures.add('tablet', 'kB over the wire', bytes / 1000, { atMost: 100 });
    const step = `each of ${machines} machines changes twice, on a slow tablet`;
    const { tasks, frames } = await bench.step(step, () =>
      watchFrames(tablet, SLOWED_DOWN, () =>
        producePaced(
          bench.kafka,
          prefix + TOPICS.states,
          { first: 0, count: machines * 2, perSecond: WALL_CHANGES_PER_SECOND },
          (index) => {
            const sequence = CHANGES_EACH + 1 + Math.floor(index / machines);
            return stateOf(index % machines, sequence, Math.floor(Date.now() / 1000) - 60);
          },
        ),
      ),
    );
    const of = `tablet, ${SLOWED_DOWN} times slower`;
    figures.add(of, 'frames', frames.length);
    figures.add(of, 'p99 of a frame, ms', percentile(frames, 0.99));
    figures.add(of, 'longest frame, ms', percentile(frames, 1));
    figures.add(of, 'tasks over 50 ms', tasks.length);
    figures.add(of, 'longest task, ms', Math.max(0, ...tasks));
  } finally {
    await tablet.close();
  }
}

async function fill({ kafka }, prefix, machines, end) {
  const write = (topic, count, record) => produce(kafka, prefix + topic, count, record);
  await write(TOPICS.registry, machines, (index) => keyed(index, registryOf(index)));
  await write(TOPICS.reasons, machines, (index) =>
    keyed(index, { machineId: machineId(index), reasons: REASONS, updatedAt: 1 }),
  );
  const every = (15 * HOURS) / CHANGES_EACH;
  const first = end - CHANGES_EACH * every;
  const change = (number) =>
    changeOf(number % machines, Math.floor(number / machines), first, every);
  await write(TOPICS.stateChanges, machines * CHANGES_EACH, change);
  await write(TOPICS.states, machines, (index) => stateOf(index, CHANGES_EACH, end - every));
}

/** Reads a change from the page that connected last: the server writes to it after all others. */
async function watchChanges(bench, figures, { prefix, machines, pages, app }) {
  const last = pages.at(-1);
  const count = Math.round((machines * WATCHED_SECONDS) / 60);
  const sentAt = [];
  const before = await readMetrics(app.url);
  const startMs = performance.now();
  await producePaced(
    bench.kafka,
    prefix + TOPICS.states,
    { first: 0, count, perSecond: machines / 60 },
    (index) => {
      sentAt[index % machines] = performance.now();
      return stateOf(index % machines, CHANGES_EACH + 1, Math.floor(Date.now() / 1000) - 60);
    },
  );
  await untilCount(app, async () => last.changedAt.size, count);
  const after = await readMetrics(app.url);
  const seconds = (performance.now() - startMs) / 1000;
  const delays = [...last.changedAt].map(
    ([id, atMs]) => (atMs - sentAt[Number(id.slice(2))]) / 1000,
  );
  for (const [name, q] of Object.entries({ p50: 0.5, p99: 0.99 }))
    figures.add('pages', `${name} from record to the last page, s`, percentile(delays, q), SECONDS);
  const share = ((after.cpuSeconds - before.cpuSeconds) / seconds) * 100;
  figures.add('pages', 'process: % of a core', share, { atMost: 100 });
  figures.add('pages', 'RSS, MB', after.rssMb);
  await delay(500);
  figures.add('pages', 'still connected', pages.filter((page) => page.isOpen).length, {
    atLeast: PAGES,
  });
}

const machineId = (index) => `M-${index}`;
const factoryId = (index) => `F-${index % FACTORIES}`;
const displayName = (index) => `Machine ${index}`;
const keyed = (index, value, headers) => ({
  key: machineId(index),
  value: JSON.stringify(value),
  headers,
});

function registryOf(index) {
  const ids = { machineId: machineId(index), factoryId: factoryId(index) };
  return { ...ids, displayName: displayName(index), factoryName: `Factory ${index % FACTORIES}` };
}

const stateNumbered = (number) => (number % 2 === 0 ? 'OPERATING' : 'IDLE');

function changeOf(index, number, first, every) {
  const startTime = Math.round(first + number * every + (index % 600));
  const data = {
    ...{ machineId: machineId(index), factoryId: factoryId(index), state: stateNumbered(number) },
    ...{ startTime, detectedAt: startTime + 60, revision: 0, startTimeSource: 'activityLog' },
    previousState: number === 0 ? null : stateNumbered(number - 1),
    previousStartTime: number === 0 ? null : Math.round(startTime - every),
  };
  return keyed(index, data, {
    ce_id: `${index}-${number}`,
    ce_type: 'machine.state.changed.v1',
    ce_subject: machineId(index),
  });
}

function stateOf(index, sequence, startTime) {
  const ids = { machineId: machineId(index), factoryId: factoryId(index) };
  return keyed(index, {
    ...{ ...ids, displayName: displayName(index), state: stateNumbered(sequence), startTime },
    ...{ observation: 'ok', lastUpdateTime: startTime + 60, sequence },
  });
}

/** A page's connection. It reads compressed events, as browsers do. */
class Page {
  isOpen = true;
  #request;
  #begin;
  #hasBegun = false;

  constructor(url) {
    this.begun = new Promise((resolve) => (this.#begin = resolve));
    const headers = { 'accept-encoding': 'gzip' };
    this.#request = http.get(`${url}/api/events`, { headers }, (answer) => {
      const text = answer
        .pipe(createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }))
        .setEncoding('utf8');
      text.on('data', (part) => this.take(part)).on('error', () => undefined);
      answer.on('close', () => (this.isOpen = false)).on('error', () => undefined);
    });
    this.#request.on('error', () => (this.isOpen = false));
  }

  /** The snapshot of all tiles is the first event; only its end is an empty line. */
  take(part) {
    if (this.#hasBegun || !part.includes('\n\n')) return;
    this.#hasBegun = true;
    this.#begin();
  }

  leave() {
    this.#request.destroy();
  }
}

/** A page whose events are also parsed. */
class ReadPage extends Page {
  /** When each machine's tile came again: milliseconds of `performance.now()`, by machine. */
  changedAt = new Map();
  #parts = [];

  take(part) {
    super.take(part);
    this.#parts.push(part);
    if (!part.includes('\n\n')) return;
    const blocks = this.#parts.join('').split('\n\n');
    this.#parts = [blocks.pop()];
    for (const block of blocks) {
      if (!block.includes('event: tiles')) continue;
      const { tiles } = JSON.parse(block.slice(block.indexOf('data: ') + 6));
      for (const tile of tiles) this.changedAt.set(tile.machineId, performance.now());
    }
  }
}
