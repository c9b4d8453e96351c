import { type MachineStateRecord, STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { Chance } from '../support/chaos/chance.js';
import { Closers } from '../support/chaos/closers.js';
import {
  bugsOf,
  FaultyProcesses,
  type Faults,
  happenByChance,
  MINUTES,
  nodeFaults,
  SEED,
  SERVICE_FAULTS,
} from '../support/chaos/faults.js';
import { inBrief } from '../support/chaos/in-brief.js';
import { eventually } from '../support/eventually.js';
import { foldStates, type TimelinePeriod } from '../support/states/fold-states.js';
import { StateLoad } from '../support/states/state-load.js';
import { readStateStream, type StateStream, toStream } from '../support/states/state-stream.js';
import { StatesPlant } from '../support/states/states-plant.js';
import { settledFaults, streamFaults } from '../support/states/stream-faults.js';
import { truthOf, untruth } from '../support/states/truth-of.js';
import { header, json, type ReadRecord } from '../support/topic-reader.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const NODES = 3;
const MOST_BRIDGES = 3;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** A minute of the plant takes a second of the test, as does the polling interval. */
const CLOCK_SPEED = 60;
/** Twice the time in which the log is revised: later revisions do not count (docs/machine-states.md, Limits). */
const SETTLE_SECONDS = 20 * MINUTE;
/** The bridge reads an incomplete log again after at most an hour (ditto), in real time a minute. */
const UNTIL_TRUE_MS = 240_000;

const STATE = 'getMachineState';
const LOG = 'getMachineActivityLog';
const LIST = 'getMachineInfo';
const CUT = '[{"startTime": 17636';

const STATE_FAULTS = [
  ...SERVICE_FAULTS.map((fault) => ({ operation: '*', ...fault })),
  // a single operation
  { operation: LOG, status: 503, durationSeconds: 15 },
  { operation: LOG, hang: true, rate: 0.2, durationSeconds: 15 },
  { operation: LOG, status: 403, durationSeconds: 8 },
  { operation: LOG, status: 204, rate: 0.5, durationSeconds: 8 },
  { operation: LOG, body: '[]', rate: 0.5, durationSeconds: 8 },
  { operation: LOG, body: CUT, rate: 0.5, durationSeconds: 8 },
  { operation: LOG, lagSeconds: 30 * MINUTE, durationSeconds: 15 },
  { operation: LOG, provisionalSeconds: 4 * MINUTE, durationSeconds: 15 },
  { operation: STATE, status: 503, rate: 0.7, durationSeconds: 15 },
  { operation: STATE, status: 422, rate: 0.3, durationSeconds: 8 },
  { operation: STATE, status: 204, rate: 0.1, durationSeconds: 8 },
  { operation: STATE, body: CUT, rate: 0.3, durationSeconds: 8 },
  { operation: STATE, lagSeconds: 7 * MINUTE, rate: 0.5, durationSeconds: 15 },
  { operation: STATE, status: 429, retryAfter: 5, rate: 0.3, durationSeconds: 8 },
  { operation: LIST, status: 403, durationSeconds: 15 },
  // a part of the fleet
  { operation: '*', factoryId: 'F-1', status: 503, durationSeconds: 20 },
  { operation: '*', factoryId: 'F-2', hang: true, durationSeconds: 12 },
  // a service whose data stand still
  { operation: STATE, factoryId: 'F-0', lagSeconds: 25 * MINUTE, durationSeconds: 20 },
];

describe(`machine states under any failure (seed ${SEED}, ${MINUTES} minutes)`, () => {
  const chance = new Chance(SEED);
  /** Machines that lists have left out. */
  const leftOut = new Set<string>();
  const closers = new Closers();
  let cluster: LocalCluster;
  let plant: StatesPlant;
  let load: StateLoad;
  let watchedSince: number;
  let stream: StateStream;
  const truths = new Map<string, TimelinePeriod[]>();

  const published = ({ events }: StateStream, machineId: string): readonly ReadRecord[] =>
    events.get(machineId) ?? [];

  const untruths = (of: StateStream): string[] =>
    inBrief(
      plant.machineIds.flatMap((machineId) => {
        const truth = truths.get(machineId) ?? [];
        return untruth(machineId, truth, foldStates(published(of, machineId)), watchedSince) ?? [];
      }),
    );

  const faultsOf = (check: (machineId: string, records: readonly ReadRecord[]) => string[]) =>
    inBrief(
      plant.machineIds.flatMap((machineId) => check(machineId, published(stream, machineId))),
    );

  const ofTheService = (): Faults => ({
    service: { weight: 8, happen: () => plant.sandbox.addFault(chance.pick(STATE_FAULTS)) },
    'machines not listed': {
      weight: 2,
      happen: async () => {
        const share = chance.pick([0, 0.8]);
        const listed = plant.life.script.machines.filter(() => chance.happens(share));
        const entries = listed.map(({ machineId, factoryId }) => ({
          machineUniqueId: machineId,
          machineDisplayName: { en: machineId },
          factoryId,
          factoryName: factoryId,
        }));
        for (const id of plant.machineIds) {
          if (!listed.some(({ machineId }) => machineId === id)) leftOut.add(id);
        }
        const fault = { operation: LIST, body: JSON.stringify(entries), durationSeconds: 30 };
        await plant.sandbox.addFault(fault);
      },
    },
  });

  beforeAll(
    async () => {
      cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: NODES });
      closers.add(() => cluster.kill());
      plant = await StatesPlant.open({
        brokers: cluster.brokers.split(','),
        machines: 40,
        clockSpeed: CLOCK_SPEED,
        partitions: 4,
        hours: MINUTES + 15,
        env: {
          MACHINE_CLOUD_TIMEOUT_MS: '5000',
          SETTLE_SECONDS: String(SETTLE_SECONDS),
          DIRECTORY_REFRESH_SECONDS: String(8 * MINUTE),
        },
      });
      closers.add(() => plant.close());
      const { clock, kafka, sandbox } = plant;
      const bridges = new FaultyProcesses(chance, MOST_BRIDGES, () => plant.startBridge());
      bridges.start();
      const [url] = await bridges.untilReady();
      await eventually('something is published of each machine', async () => {
        const shown = await (await fetch(`${url}/api/machines`)).json();
        const published = (shown as { state: MachineStateRecord | null }[]).filter(
          (it) => it.state,
        );
        return published.length === plant.machineIds.length;
      });
      watchedSince = clock.nowSeconds();
      load = new StateLoad(plant, new Chance(SEED + 1), watchedSince + 2 * MINUTE);
      load.start();
      closers.add(() => load.stop());
      const faults = {
        ...bridges.faults(),
        ...nodeFaults(cluster, kafka.topics, chance),
        ...ofTheService(),
      };
      await happenByChance(faults, chance, () => `${bridges.running.size} bridges`);
      await sandbox.clearFaults();
      await load.stop();
      await bridges.untilReady();
      const until = clock.nowSeconds();
      for (const machineId of plant.machineIds) {
        const from = watchedSince - 3 * HOUR;
        truths.set(machineId, await truthOf(sandbox, machineId, from, until));
      }
      const reader = await kafka.read(TOPICS.stateChanges, TOPICS.states);
      // the first test reports what is still missing
      await eventually(
        'all that has happened is published',
        () => {
          const untrue = untruths(toStream(reader.records));
          if (untrue.length > 0) throw new Error(untrue.join('\n'));
          return true;
        },
        UNTIL_TRUE_MS,
      ).catch(() => undefined);
      expect(new Set(await bridges.stopAll())).toEqual(new Set([0]));
      stream = await readStateStream(kafka, plant.partitions);
    },
    (MINUTES + 12) * 60_000,
  );

  afterAll(() => closers.closeAll(), 120_000);

  it('are published by the minute as the service has them, except for minutes without data', () => {
    expect(untruths(stream)).toEqual([]);
  });

  it('are numbered, linked, lost and restored correctly, and end as the compacted topic does', () => {
    expect(streamFaults(stream, plant.machineIds)).toEqual([]);
  });

  it('do not change once they are settled', () => {
    const check = (machineId: string, records: readonly ReadRecord[]): string[] =>
      settledFaults(machineId, records, stream.states.get(machineId) ?? []);
    expect(faultsOf(check)).toEqual([]);
  });

  it('are removed only if a list has left out their machine', () => {
    const check = (machineId: string, records: readonly ReadRecord[]): string[] =>
      records
        .filter((record) => header(record, 'ce_type') === STATE_EVENT_TYPES.observationLost)
        .filter((record) => json(record)['reason'] === 'removed' && !leftOut.has(machineId))
        .map((record) => `${machineId} was never left out: ${String(record.value)}`);
    expect(faultsOf(check)).toEqual([]);
  });

  it('let no bridge log a bug', () => {
    expect(bugsOf(plant.bridges)).toEqual([]);
  });
});
