import { type MachineState, type MachineStateRecord, STATE_EVENT_TYPES } from '#libs/contracts';
import { type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import type { AppProcess } from '../support/app-process.js';
import { inBrief } from '../support/chaos/in-brief.js';
import { untilReady, untilUnready } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { header, type ReadRecord } from '../support/topic-reader.js';
import { type TimelinePeriod, foldStates } from '../support/states/fold-states.js';
import { readStateStream, type StateStream } from '../support/states/state-stream.js';
import { StatesPlant } from '../support/states/states-plant.js';
import { streamFaults } from '../support/states/stream-faults.js';
import { truthOf, untruth } from '../support/states/truth-of.js';

const MINUTE = 60;
/** A minute of the plant takes a second of the test, as does the polling interval. */
const CLOCK_SPEED = 60;
const MACHINES = 100;
/** The number of polls of the n-th process before it is killed. */
const POLLS_BEFORE_KILL = [120, 1, 260, 30];
/** The kills above, one after the outage, one after Kafka's restart, twice two at once, and the joined process. */
const KILLS = POLLS_BEFORE_KILL.length + 7;
const OUTAGE_MINUTES = 10;
/** Long enough, even on a busy machine, to publish a state before the service revises it. */
const SETTLE_MINUTES = 20;
const SETTLED_AFTER_MINUTES = SETTLE_MINUTES + 5;
/** Reaches back before the first published period. */
const BEFORE_ALL_SECONDS = 3 * 3600;

const machinesOf = async (bridge: AppProcess): Promise<{ state: MachineStateRecord | null }[]> => {
  const answer = await fetch(`${await bridge.url()}/api/machines`);
  return (await answer.json()) as { state: MachineStateRecord | null }[];
};

/** An answer is not enough: a killed process leaves unpublished machines to the next one, which starts over. */
async function untilAllPublished(bridge: AppProcess): Promise<void> {
  await eventually('a state of every machine is published', async () => {
    const published = (await machinesOf(bridge)).filter(({ state }) => state !== null);
    if (published.length < MACHINES) throw new Error(`of ${published.length} machines`);
    return true;
  });
}

/** Waits until the bridge shows a state of the machine that began at `since`. */
async function untilPublished(url: string, machineId: string, since: number): Promise<void> {
  await eventually(`the new state of ${machineId} is published`, async () => {
    const response = await fetch(`${url}/api/machines/${machineId}`);
    const { state } = (await response.json()) as { state: MachineStateRecord | null };
    return (state?.startTime ?? 0) > since - MINUTE;
  });
}

describe('machine states through crashes, outages and rebalances', () => {
  let broker: LocalKafka;
  let plant: StatesPlant;
  let stream: StateStream;
  let watchedSince: number;
  let kills = 0;
  const rewritten: string[] = [];
  const truths = new Map<string, TimelinePeriod[]>();

  const killed = async (bridge: AppProcess): Promise<void> => {
    bridge.kill('SIGKILL');
    await bridge.exitCode();
    kills += 1;
  };

  /** Three machines change state; once that is published, the service revises it. */
  const changeItsMind = async (bridge: AppProcess): Promise<void> => {
    const { sandbox, clock } = plant;
    const turning = plant.life.machineIds('steady').slice(rewritten.length).slice(0, 3);
    rewritten.push(...turning);
    const turned = clock.nowSeconds();
    const turnedTo = new Map<string, MachineState>();
    for (const machineId of turning) {
      const [held] = await truthOf(sandbox, machineId, turned - MINUTE, turned);
      turnedTo.set(machineId, held?.state === 'OFF' ? 'OPERATING' : 'OFF');
      await sandbox.forceState(machineId, turnedTo.get(machineId) ?? null, turned);
    }
    const url = await bridge.url();
    for (const machineId of turning) await untilPublished(url, machineId, turned);
    const [another = '', later = '', never = ''] = turning;
    await sandbox.forceState(another, 'IDLE', turned);
    for (const machineId of [later, never]) await sandbox.forceState(machineId, null, turned);
    await sandbox.forceState(later, turnedTo.get(later) ?? null, turned + 2 * MINUTE);
  };

  /** Each process replaces a killed one and is killed in turn. */
  const killOneAfterTheOther = async (first: AppProcess): Promise<AppProcess> => {
    let bridge = first;
    for (const polls of POLLS_BEFORE_KILL) {
      await plant.untilPolled(polls);
      await killed(bridge);
      bridge = plant.startBridge();
    }
    return bridge;
  };

  const joinAndDie = async (): Promise<void> => {
    const second = plant.startBridge();
    await plant.untilShared(2);
    await plant.untilAllAnswered();
    await killed(second);
    await plant.untilShared(1);
    await plant.untilAllAnswered();
  };

  /** The process is killed while it catches up on the outage of the service. */
  const outage = async (bridge: AppProcess): Promise<AppProcess> => {
    await changeItsMind(bridge);
    await plant.sandbox.addFault({ operation: '*', status: 503 });
    await plant.clock.sleepSeconds(OUTAGE_MINUTES * MINUTE);
    await eventually('all are lost', async () => {
      const shown = await machinesOf(bridge);
      return shown.every(({ state }) => /unreachable|noData/.test(state?.observation ?? 'noData'));
    });
    await plant.sandbox.clearFaults();
    await plant.untilPolled(30);
    await killed(bridge);
    const next = plant.startBridge();
    await plant.untilAllAnswered();
    return next;
  };

  /** The process survives the restart and is killed shortly after it has recovered. */
  const kafkaRestart = async (bridge: AppProcess): Promise<AppProcess> => {
    const url = await bridge.ready();
    await changeItsMind(bridge);
    await broker.kill();
    await untilUnready(url, 'kafka');
    await broker.restart();
    await untilReady(url);
    await plant.untilPolled(30);
    await killed(bridge);
    const next = plant.startBridge();
    await plant.untilAllAnswered();
    return next;
  };

  /** Two processes that share the machines are killed within the same rebalance. */
  const killTwoAtOnce = async (bridge: AppProcess): Promise<AppProcess> => {
    const other = plant.startBridge();
    await plant.untilShared(2);
    await plant.untilPolled(40);
    await killed(bridge);
    await plant.untilPolled(10);
    await killed(other);
    const next = plant.startBridge();
    await plant.untilAllAnswered();
    return next;
  };

  const published = (machineId: string): readonly ReadRecord[] =>
    stream.events.get(machineId) ?? [];

  const untruths = (machineIds: readonly string[]): string[] =>
    inBrief(
      machineIds.flatMap((machineId) => {
        const truth = truths.get(machineId) ?? [];
        return untruth(machineId, truth, foldStates(published(machineId)), watchedSince) ?? [];
      }),
    );

  beforeAll(async () => {
    broker = await startLocalKafka({ dir: temporaryFolder() });
    const brokers = [broker.brokers];
    const env = { SETTLE_SECONDS: String(SETTLE_MINUTES * MINUTE) };
    plant = await StatesPlant.open({ brokers, machines: MACHINES, clockSpeed: CLOCK_SPEED, env });
    let bridge = plant.startBridge();
    await untilAllPublished(bridge);
    watchedSince = plant.clock.nowSeconds();

    bridge = await killOneAfterTheOther(bridge);
    await plant.untilAllAnswered();
    await joinAndDie();
    bridge = await outage(bridge);
    bridge = await kafkaRestart(bridge);
    bridge = await killTwoAtOnce(bridge);
    bridge = await killTwoAtOnce(bridge);

    expect(kills).toBe(KILLS);
    const until = plant.clock.nowSeconds();
    await plant.clock.sleepSeconds(SETTLED_AFTER_MINUTES * MINUTE);
    await plant.untilAllAnswered();
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
    stream = await readStateStream(plant.kafka, plant.partitions);
    for (const machineId of plant.machineIds) {
      const from = watchedSince - BEFORE_ALL_SECONDS;
      truths.set(machineId, await truthOf(plant.sandbox, machineId, from, until));
    }
  });

  afterAll(() => plant.close().finally(() => broker.kill()));

  it('are published by the minute as the service has them', () => {
    const machineIds = plant.life.machineIds('ordinary', 'hasty', 'steady');
    expect(untruths(machineIds.filter((machineId) => !rewritten.includes(machineId)))).toEqual([]);
  });

  it('are published for machines with gaps in their data, except for the minutes of the gaps', () => {
    expect(untruths(plant.life.machineIds('interrupted'))).toEqual([]);
  });

  it('are corrected when the service revises them', () => {
    expect(untruths(rewritten)).toEqual([]);
    for (const machineId of rewritten) {
      const types = published(machineId).map((record) => header(record, 'ce_type'));
      expect(types).toContain(STATE_EVENT_TYPES.corrected);
    }
  });

  it('are numbered, linked, lost and restored correctly, and end as the compacted topic does', () => {
    expect(streamFaults(stream, plant.machineIds)).toEqual([]);
    // A machine without data is already lost.
    const unseen = plant.life
      .machineIds('ordinary', 'hasty', 'steady')
      .filter((id) => !published(id).some((it) => it.value?.includes('"unreachable"')));
    expect(unseen).toEqual([]);
  });
});
