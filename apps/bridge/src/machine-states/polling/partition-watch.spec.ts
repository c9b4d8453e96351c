import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock, realDelayMs } from '#libs/clock';
import { type KafkaClient, type TransactedState, partitionOf } from '#libs/kafka';
import type { MachineDirectory, ReasonRefresh } from '../../machine-directory/index.js';
import { unpausedFlows } from '../../flow-control/testing/unpaused-flows.js';
import { bridgeSettings, clientOf } from '../../platform/testing/bridge-settings.js';
import { newlyTracked, type TrackedMachine } from '../derivation/tracked-machine.js';
import { MachineStates } from '../machine-states.js';
import { ActivityLogReader } from './activity-log-reader.js';
import { PartitionWatch } from './partition-watch.js';
import { PollHealth } from './poll-health.js';
import { PollLoop } from './poll-loop.js';
import { PollingMetrics } from './polling-metrics.js';
import { WatchContext } from './watch-context.js';

const settings = bridgeSettings();

const PARTITIONS = 3;
const PARTITION = 1;
/** The default of DIRECTORY_REFRESH_SECONDS. */
const REFRESH_SECONDS = 300;

const machine = (machineId: string) => ({
  machineId,
  displayName: machineId,
  factoryId: 'F-1',
  factoryName: 'Plant',
});

const isOurs = (machineId: string): boolean => partitionOf(machineId, PARTITIONS) === PARTITION;

const PLANT = Array.from({ length: 30 }, (_, index) => `M-${index}`);
const OURS = PLANT.filter(isOurs);

const listOf = (ids: readonly string[]) => new Map(ids.map((id) => [id, machine(id)]));

describe('PartitionWatch', () => {
  let remembered: Map<string, TrackedMachine>;
  let clock: ManualClock;
  let forgotten: string[];

  function poller(): { loop: PollLoop; context: WatchContext } {
    const metrics = new PollingMetrics();
    const client = clientOf(settings);
    const reader = new ActivityLogReader(client, settings, clock);
    const health = new PollHealth(clock);
    const context = new WatchContext(settings, clock, client, reader, health, metrics, {
      forgetReasons: (machineId) => forgotten.push(machineId),
    });
    return { loop: new PollLoop(settings, clock, health, metrics, unpausedFlows()), context };
  }

  const stateOf = (partition: number): TransactedState<TrackedMachine> => ({
    partition,
    partitions: PARTITIONS,
    signal: new AbortController().signal,
    lost: new AbortController().signal,
    get: (key) => remembered.get(key),
    keys: () => remembered.keys(),
    entries: () => remembered.entries(),
    commit: (changes) => {
      for (const [key, value] of changes) if (value !== null) remembered.set(key, value);
      return Promise.resolve();
    },
  });

  function watchPartition(): PartitionWatch {
    const { loop, context } = poller();
    return new PartitionWatch(stateOf(PARTITION), PARTITIONS, loop, context);
  }

  const follow = (partition: PartitionWatch, ids: readonly string[]): void => {
    partition.followList(listOf(ids), ids.filter(isOurs).map(machine));
  };

  const watched = (partition: PartitionWatch): string[] =>
    partition.watches.filter(({ hasEnded }) => !hasEnded).map(({ machineId }) => machineId);

  beforeEach(() => {
    remembered = new Map();
    clock = new ManualClock();
    forgotten = [];
  });

  function machinesOf(
    listed: ReturnType<typeof listOf>,
    { loop, context }: ReturnType<typeof poller>,
  ): MachineStates {
    const directory = {
      ...{ status: { loadedAt: 1 }, machines: () => listed },
      onRefresh: () => () => undefined,
    } as unknown as MachineDirectory;
    const reasons = { queueIfStale: () => undefined } as unknown as ReasonRefresh;
    return new MachineStates(directory, loop, context, reasons, {} as KafkaClient);
  }

  it('watches the machines of the list that fall into the partition', () => {
    const partition = watchPartition();
    follow(partition, PLANT);
    expect(watched(partition)).toEqual(OURS);
  });

  it('gets its share of a list that is hashed once, however many partitions there are', () => {
    const listed = listOf(PLANT);
    const values = jest.spyOn(listed, 'values');
    const machines = machinesOf(listed, poller());
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      const before = machines.watches.length;
      machines.watchPartition(stateOf(partition));
      for (const { machineId } of machines.watches.slice(before)) {
        expect(partitionOf(machineId, PARTITIONS)).toBe(partition);
      }
    }
    expect(machines.watches).toHaveLength(PLANT.length);
    expect(values).toHaveBeenCalledTimes(1);
  });

  it('logs an error that keeps it from being watched, with its stack', () => {
    const failure = new Error('a defect');
    const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const entries = () => {
      throw failure;
    };
    machinesOf(listOf([]), poller()).watchPartition({ ...stateOf(PARTITION), entries });
    expect(logged).toHaveBeenCalledWith({ msg: 'not watched', partition: PARTITION, err: failure });
  });

  it('watches stored machines before the directory has been read', () => {
    const id = OURS[0]!;
    remembered.set(id, newlyTracked(machine(id)));
    expect(watched(watchPartition())).toEqual([id]);
  });

  it('reports a machine as removed that two lists in a row lack', async () => {
    const partition = watchPartition();
    follow(partition, OURS);
    const gone = partition.findWatch(OURS[0]!)!;
    for (const listed of [OURS.slice(1), OURS, OURS.slice(1)]) {
      follow(partition, listed);
      await (await gone.poll()).conclude();
      expect(watched(partition)).toContain(OURS[0]);
      clock.advance(REFRESH_SECONDS);
    }
    follow(partition, OURS.slice(1));
    await (await gone.poll()).conclude();
    expect(watched(partition)).toEqual(OURS.slice(1));
  });

  it('counts lists read between two refreshes as one: commands cause reads at any time', async () => {
    const partition = watchPartition();
    follow(partition, OURS);
    const [missed] = partition.watches;
    for (let seconds = 0; seconds < REFRESH_SECONDS; seconds += 2) {
      follow(partition, []);
      clock.advance(2);
    }
    await (await missed!.poll()).conclude();
    expect(watched(partition)).toContain(missed!.machineId);
  });

  it('watches a machine that returns', async () => {
    const partition = watchPartition();
    follow(partition, OURS);
    const gone = partition.findWatch(OURS[0]!)!;
    follow(partition, []);
    clock.advance(REFRESH_SECONDS);
    follow(partition, []);
    await (await gone.poll()).conclude();
    follow(partition, OURS);
    expect(watched(partition)).toContain(OURS[0]);
  });

  describe('when it is restored', () => {
    const [first, second, lost] = OURS as [string, string, string];
    const observed = (id: string, lastUpdateTime: number): TrackedMachine => ({
      ...newlyTracked(machine(id)),
      sequence: 1,
      lastUpdateTime,
    });

    it('knows when all its machines were last seen, however long ago they changed', async () => {
      clock.set(50_000);
      remembered.set(first, observed(first, 49_900));
      remembered.set(second, observed(second, 49_940));
      remembered.set(lost, { ...observed(lost, 30_000), observation: 'noData', lostSince: 30_000 });
      watchPartition();
      // STALE_AFTER_SECONDS
      clock.advance(300);
      await realDelayMs(0);
      remembered.set(first, observed(first, 10_000));
      remembered.set(second, observed(second, 49_950));
      const restored = watchPartition();
      expect(watched(restored).toSorted()).toEqual([first, second, lost].toSorted());
      const updatedAt = (id: string) => restored.findWatch(id)?.tracked?.lastUpdateTime;
      expect([first, second, lost].map(updatedAt)).toEqual([49_900, 49_950, 30_000]);
    });
  });

  describe('while the first polls of a machine fail', () => {
    it.each(['before', 'after'])('it is unknown to operators %s a restart', async (when) => {
      const [id] = OURS as [string];
      const [polling, listed] = [poller(), listOf([id])];
      const failure = { message: 'HTTP 503', status: 503 };
      jest
        .spyOn(polling.context.client, 'getMachineState')
        .mockResolvedValue({ kind: 'retry', afterMs: null, error: failure } as never);
      const first = machinesOf(listed, polling);
      first.watchPartition(stateOf(PARTITION));
      await (await first.findWatch(id)!.poll()).conclude();
      expect(remembered.has(id)).toBe(true);
      const machines = when === 'before' ? first : machinesOf(listed, polling);
      if (when === 'after') machines.watchPartition(stateOf(PARTITION));
      expect(machines.recordOf(id)).toBeNull();
      const metrics = await Promise.all(machines.metrics.map((metric) => metric.get()));
      const counts = metrics.find(({ name }) => name === 'machine_bridge_machines')?.values;
      expect(counts).toMatchObject([{ labels: { observation: 'unknown' }, value: 1 }]);
    });
  });

  it('publishes one machine again in each minute without changes, so that a quiet plant is visible', async () => {
    const { loop, context } = poller();
    const updates: number[] = [];
    const state = stateOf(PARTITION);
    const commit: typeof state.commit = async (changes, records) => {
      const at = changes.map(([, tracked]) => tracked?.lastUpdateTime ?? 0);
      if (records.length > 0) updates.push(...at);
      await state.commit(changes, records);
    };
    const partition = new PartitionWatch({ ...state, commit }, PARTITIONS, loop, context);
    follow(partition, OURS);
    clock.set(600_000_000);
    const start = clock.nowSeconds();
    jest.spyOn(context.client, 'getMachineState').mockImplementation(() => {
      const lastUpdateTime = clock.nowSeconds();
      const durationInMinutes = (lastUpdateTime - start) / 60;
      const data = { state: 'OPERATING', durationInMinutes, lastUpdateTime } as const;
      return Promise.resolve({ kind: 'data', data });
    });
    jest.spyOn(context.client, 'getMachineActivityLog').mockResolvedValue({ kind: 'noData' });
    const poll = async (): Promise<void> => {
      for (const watch of partition.watches) await (await watch.poll()).conclude();
    };
    await poll();
    expect(updates).toHaveLength(OURS.length);
    for (const minutes of [1, 2]) {
      clock.advance(60);
      await poll();
      expect(updates.slice(OURS.length + minutes - 1)).toEqual([start + minutes * 60]);
    }
  });

  it('keeps fewer periods that wait for the log of a machine, the more machines there are', async () => {
    const polling = poller();
    const fleet = Array.from({ length: 60_000 }, (_, index) => `M-${index}`);
    const machines = machinesOf(listOf(fleet), polling);
    machines.watchPartition(stateOf(PARTITION));
    const { client } = polling.context;
    jest.spyOn(client, 'getMachineActivityLog').mockResolvedValue({ kind: 'noData' });
    clock.set(600_000_000);
    for (let minute = 0; minute < 20; minute += 1) {
      clock.advance(60);
      const state = minute % 2 === 0 ? 'IDLE' : 'OPERATING';
      const data = { state, durationInMinutes: 0, lastUpdateTime: clock.nowSeconds() } as const;
      jest.spyOn(client, 'getMachineState').mockResolvedValue({ kind: 'data', data });
      await (await machines.findWatch(OURS[0]!)!.poll()).conclude();
    }
    expect(machines.findWatch(OURS[0]!)?.tracked?.periods).toHaveLength(10);
  });

  it('ends all its watches with the partition', () => {
    const partition = watchPartition();
    follow(partition, PLANT);
    const { watches } = partition;
    partition.endWatches();
    expect(watches.every(({ hasEnded }) => hasEnded)).toBe(true);
    expect(partition.watches).toEqual([]);
    // From now on another process publishes these machines.
    expect(forgotten).toEqual(OURS);
  });
});
