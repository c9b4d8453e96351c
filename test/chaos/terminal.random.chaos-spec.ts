import { randomUUID } from 'node:crypto';
import { globalAgent } from 'node:http';
import { realDelayMs, realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import type { Entry, MachineView, Tile } from '../../apps/terminal/src/index.js';
import { AppProcess } from '../support/app-process.js';
import { Chance } from '../support/chaos/chance.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { Closers } from '../support/chaos/closers.js';
import {
  bugsOf,
  FaultyProcesses,
  happenByChance,
  MINUTES,
  nodeFaults,
  SEED,
} from '../support/chaos/faults.js';
import { inBrief } from '../support/chaos/in-brief.js';
import { isUnexpected, postOddly } from '../support/chaos/odd-client.js';
import { eventually } from '../support/eventually.js';
import { type LiveEvent, PublishedMachine, readEvents } from '../support/running-terminal.js';
import { header, placesOf, type ReadRecord } from '../support/topic-reader.js';
import { temporaryFile, temporaryFolder } from '../../libs/config/test/temporary-files.js';

const NODES = 3;
const TERMINALS = 2;
const PAGES = 6;
/** Each has one request at a time, and a machine and a token of its own. */
const TABLETS = 9;
/** Machines whose stops have open-ended reasons. */
const STOPPING = 3;
const REASON_ID = '22';
const MOST_ENTRIES = 4;
const LONGEST_PAUSE_MS = 800;
const LONGEST_VISIT_MS = 12_000;
const HOUR = 3600;
const THREE_DAYS = 3 * 86_400;
const EXPECTED = new Set([202, 408, 429, 503]);

interface NewEntry {
  entryId: string;
  machineId: string;
  reasonId: string;
  startTime: number;
  endTime: number | null;
  overOperating: true;
}

/** A page's view of its events, and their faults. */
class Page {
  tiles = new Map<string, object>();
  readonly faults: string[] = [];
  private epoch = '';
  private last = -1;
  /** Whether this epoch's snapshot has come. */
  private hasSnapshot = false;
  private lastEventId: string | undefined;

  constructor(private readonly token: string) {}

  /** Follows the events from the last one on, until the signal aborts or the connection breaks. */
  async follow(url: string, signal: AbortSignal): Promise<void> {
    const headers = {
      authorization: `Bearer ${this.token}`,
      ...(this.lastEventId !== undefined && { 'last-event-id': this.lastEventId }),
    };
    const answer = await fetch(`${url}/api/events`, { headers, signal });
    if (answer.status !== 200 || answer.body === null) {
      this.faults.push(`answered ${answer.status}`);
      return;
    }
    await readEvents(answer.body, (event) => this.take(event));
  }

  private take({ id, type, data }: LiveEvent): void {
    const [epoch = '', digits] = id.split('-');
    const sequence = Number(digits);
    this.hasSnapshot &&= epoch === this.epoch;
    if (type === 'snapshot') {
      this.tiles = new Map();
      this.hasSnapshot = true;
    } else if (this.hasSnapshot && sequence !== this.last + 1) {
      this.faults.push(`${type} ${id} after ${this.last}`);
    } else if (!this.hasSnapshot && type !== 'link') {
      this.faults.push(`${type} ${id} before a snapshot`);
    }
    [this.epoch, this.last, this.lastEventId] = [epoch, sequence, id];
    const { tiles = [], gone = [] } = data as { tiles?: Tile[]; gone?: string[] };
    for (const tile of tiles) this.tiles.set(tile.machineId, tile);
    for (const machineId of gone) this.tiles.delete(machineId);
  }
}

describe(`the terminal's server under any failure (seed ${SEED}, ${MINUTES} minutes)`, () => {
  const chance = new Chance(SEED);
  const ending = new AbortController();
  const noPages = new AbortController();
  const failed = new AbortController();
  const closers = new Closers();
  const tokens = Array.from({ length: TABLETS + STOPPING + PAGES }, () => `token-${randomUUID()}`);
  const started: AppProcess[] = [];
  const pages = tokens.slice(-PAGES).map((token) => new Page(token));
  /** The places that the answers gave for each entry. */
  const places = new Map<string, Set<string>>();
  /** Entries that were posted to one server only, perhaps several times. */
  const ofOneServer = new Set<string>();
  const oddAnswers: string[] = [];
  /** Far enough in the past that a tablet's increasing times never exceed the current time. */
  const baseTime = nowSeconds() - Math.ceil(MINUTES) * HOUR;
  let cluster: LocalCluster;
  let plant: ChaosPlant;
  let terminals: FaultyProcesses;
  let records: readonly ReadRecord[];

  const startTerminal = (): AppProcess => {
    const { topicPrefix } = plant.kafka;
    const process = new AppProcess('terminal', {
      KAFKA_BROKERS: cluster.brokers,
      KAFKA_TOPIC_PREFIX: topicPrefix,
      KAFKA_GROUP_ID: `${topicPrefix}terminal`,
      KAFKA_TOPIC_PARTITIONS: '3',
      TERMINAL_HTTP_PORT: '0',
      TERMINAL_TOKENS_FILE: temporaryFile(
        'tokens.json',
        Object.fromEntries(tokens.map((token, index) => [token, `station-${index}`])),
      ),
    });
    started.push(process);
    closers.add(() => process.close());
    return process;
  };

  /** The URL of the server at this place, or of any server. */
  const urlOf = (place: number | undefined, by: Chance): string | undefined => {
    const of = place ?? by.pick([...terminals.running.keys()]);
    return terminals.running.get(of)?.listensAt;
  };

  /** Posts until all entries are accepted, unless the test has failed. */
  const postAll = async (
    entries: readonly NewEntry[],
    { token, place, by }: { token: string; place: number | undefined; by: Chance },
  ): Promise<void> => {
    const headers = { authorization: `Bearer ${token}`, 'x-machine-terminal': '1' };
    if (place !== undefined) for (const { entryId } of entries) ofOneServer.add(entryId);
    for (let left = entries; left.length > 0 && !failed.signal.aborted;) {
      await realDelayMs(by.upTo(LONGEST_PAUSE_MS));
      const url = urlOf(place, by);
      if (url === undefined) continue;
      const body = JSON.stringify({ entries: left });
      const answer = await postOddly(`${url}/api/reasons`, headers, body, by);
      if (answer === undefined) continue;
      if (isUnexpected(answer, EXPECTED)) oddAnswers.push(`${answer.status} ${answer.body}`);
      if (answer.status !== 202) continue;
      const { results } = JSON.parse(answer.body) as {
        results: { entryId: string; ok: boolean; code?: string; source?: Entry['source'] }[];
      };
      for (const { entryId, ok, code, source } of results) {
        if (!ok) {
          oddAnswers.push(`${entryId}: ${code}`);
          continue;
        }
        const { topic, partition, offset } = source ?? {};
        const said = places.get(entryId) ?? new Set();
        places.set(entryId, said.add(`${topic} ${partition} ${offset}`));
      }
      // as after a lost answer
      left = by.happens(0.2) ? left : [];
    }
  };

  /** A tablet gives reasons; a third of them may be sent to any server. */
  const giveReasons = async (tablet: number): Promise<void> => {
    const by = new Chance(SEED * 1000 + tablet);
    const place = [0, 1, undefined][tablet % 3];
    const machineId = plant.load.machineIds[tablet]!;
    for (let count = 0; !ending.signal.aborted;) {
      const entries = Array.from({ length: 1 + Math.floor(by.upTo(MOST_ENTRIES)) }, () => {
        count += 1;
        // as of a tablet that was off since then
        const startTime = baseTime - (by.happens(0.05) ? THREE_DAYS : 0) + 2 * count;
        return newEntry(machineId, startTime, startTime + 1);
      });
      await postAll(entries, { token: tokens[tablet]!, place, by });
    }
  };

  /** A machine stops and runs; each stop gets an open-ended reason. */
  const standAndRun = async (index: number): Promise<void> => {
    const by = new Chance(SEED * 1000 + TABLETS + index);
    const machineId = plant.load.machineIds[TABLETS + index]!;
    const machine = new PublishedMachine(plant.kafka, machineId);
    await untilDone(() => machine.enter('OPERATING', baseTime));
    while (!ending.signal.aborted) {
      await nextSecond();
      const startTime = nowSeconds();
      await untilDone(() => machine.enter('IDLE', startTime));
      const entry = newEntry(machineId, startTime, null);
      const token = tokens[TABLETS + index]!;
      await postAll([entry], { token, place: index % TERMINALS, by });
      await nextSecond();
      await realDelayMs(by.upTo(5 * LONGEST_PAUSE_MS));
      const runsSince = nowSeconds();
      await untilDone(() => machine.enter('OPERATING', runsSince));
    }
  };

  /** A page follows one server and loses its connection now and then. */
  const watch = async (page: Page, index: number): Promise<void> => {
    const by = new Chance(SEED * 1000 + TABLETS + STOPPING + index);
    while (!noPages.signal.aborted) {
      const url = urlOf(index % TERMINALS, by);
      const cut = AbortSignal.any([
        noPages.signal,
        AbortSignal.timeout(Math.ceil(by.upTo(LONGEST_VISIT_MS))),
      ]);
      if (url !== undefined) await page.follow(url, cut).catch(() => undefined);
      await realDelayMs(by.upTo(LONGEST_PAUSE_MS));
    }
  };

  const get = async <T>(url: string, path: string): Promise<T> => {
    const headers = { authorization: `Bearer ${tokens[0]}` };
    const answer = await fetch(url + path, { headers });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };

  const urls = (): string[] => [...terminals.running.values()].map(({ listensAt }) => listensAt!);

  /** The entries with these ids, as one server has them. */
  const entriesAt = async (url: string, ids: readonly string[]): Promise<Entry[]> => {
    const all: Entry[] = [];
    for (let from = 0; from < ids.length; from += 100) {
      const some = ids.slice(from, from + 100).join();
      all.push(...(await get<{ entries: Entry[] }>(url, `/api/entries?ids=${some}`)).entries);
    }
    return all;
  };

  beforeAll(
    async () => {
      cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: NODES });
      closers.add(() => cluster.kill());
      const machines = TABLETS + STOPPING;
      const brokers = cluster.brokers.split(',');
      const env = { BRIDGE_FLOWS: 'downtime-reasons' };
      plant = await ChaosPlant.open({ brokers, machines, partitions: 3, env });
      closers.add(() => plant.close());
      terminals = new FaultyProcesses(chance, TERMINALS, startTerminal);
      while (terminals.running.size < TERMINALS) terminals.start();
      await terminals.untilReady();
      for (const machineId of plant.load.machineIds) {
        await new PublishedMachine(plant.kafka, machineId).list();
      }
      await plant.startBridge().ready();
      for (const url of urls()) {
        await eventually('its machines and reasons are known', async () => {
          const { machines: known } = await get<{ machines: object }>(url, '/api/reasons');
          return Object.keys(known).length >= machines;
        });
      }
      const loads = [
        ...tokens.slice(0, TABLETS).map((_, tablet) => giveReasons(tablet)),
        ...tokens.slice(0, STOPPING).map((_, index) => standAndRun(index)),
      ];
      const watching = pages.map((page, index) => watch(page, index));
      const faults = { ...terminals.faults(), ...nodeFaults(cluster, plant.kafka.topics, chance) };
      await happenByChance(faults, chance, () => `${terminals.running.size} terminals`);
      while (terminals.running.size < TERMINALS) terminals.start();
      await terminals.untilReady();
      ending.abort();
      await Promise.all(loads);
      process.stdout.write(`${places.size} entries\n`);
      const reader = await plant.kafka.read(TOPICS.downtimeReasons);
      await eventually('all entries are read', () => {
        const read = new Set(reader.records.map(idOf));
        return [...places.keys()].every((id) => read.has(id));
      });
      records = reader.records;
      await eventually('pages show what a new one does', async () => {
        for (const [index, page] of pages.entries()) {
          const fresh = new Page(tokens[0]!);
          const url = urlOf(index % TERMINALS, chance)!;
          await fresh.follow(url, AbortSignal.timeout(1000)).catch(() => undefined);
          expect(fresh.tiles.size).toBeGreaterThan(0);
          expect([...page.tiles].sort()).toEqual([...fresh.tiles].sort());
        }
        return true;
      });
      noPages.abort();
      await Promise.all(watching);
    },
    (MINUTES + 10) * 60_000,
  );

  afterAll(async () => {
    for (const each of [ending, noPages, failed]) each.abort();
    await closers.closeAll();
  }, 120_000);

  it('answers as documented', () => {
    expect(inBrief(oddAnswers)).toEqual([]);
  });

  it('loses no entry, and writes those of one server once, at the answered place', () => {
    const written = placesOf(records, plant.kafka.topicPrefix, idOf);
    const faults = [...places]
      .map(([id, said]) => ({ id, said: [...said], lie: written.get(id) ?? [] }))
      .filter(({ id, said, lie }) =>
        ofOneServer.has(id)
          ? said.join() !== lie.join()
          : said.some((place) => !lie.includes(place)) || lie.length > TERMINALS,
      );
    expect(faults.map((fault) => JSON.stringify(fault)).slice(0, 10)).toEqual([]);
  });

  it('shows the outcome of each entry', async () => {
    const ids = [...places.keys()];
    for (const url of urls()) {
      await eventually(
        `all are applied, by ${url}`,
        async () => {
          const known = new Map((await entriesAt(url, ids)).map((it) => [it.entryId, it.status]));
          const faults = ids.flatMap((id) => (known.get(id) === 'applied' ? [] : [known.get(id)]));
          expect(inBrief(faults.map(String))).toEqual([]);
          return true;
        },
        180_000,
      );
    }
  });

  it('ends each open-ended reason when its machine runs again', async () => {
    for (const machineId of plant.load.machineIds.slice(TABLETS)) {
      for (const url of urls()) {
        await eventually('no reason goes on', async () => {
          const { tile } = await get<MachineView>(url, `/api/machines/${machineId}`);
          expect(tile).toMatchObject({ machineId, state: 'OPERATING', goingOn: null });
          return true;
        });
      }
    }
  });

  it('lets pages miss nothing, however often they reconnect', () => {
    expect(inBrief(pages.flatMap(({ faults }) => faults))).toEqual([]);
  });

  it('holds nothing that has ended', async () => {
    globalAgent.destroy();
    await terminals.untilNothingHeld(startTerminal(), 'machine_terminal_pages', tokens[0]!);
  });

  it('logs no bug', () => {
    expect(bugsOf(started)).toEqual([]);
  });
});

function newEntry(machineId: string, startTime: number, endTime: number | null): NewEntry {
  const entryId = randomUUID();
  return { entryId, machineId, reasonId: REASON_ID, startTime, endTime, overOperating: true };
}

function nowSeconds(): number {
  return Math.floor(realEpochMs() / 1000);
}

async function nextSecond(): Promise<void> {
  const second = nowSeconds();
  await eventually('the next second', () => nowSeconds() > second);
}

/** Repeats the work of a client that gives up before Kafka is back. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  await eventually('it is published', () =>
    work().then(
      () => true,
      () => false,
    ),
  );
}

function idOf(record: ReadRecord): string {
  return header(record, 'message-id') ?? '';
}
