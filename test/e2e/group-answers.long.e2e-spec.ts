import type { GroupFlow } from '#libs/contracts';
import { TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { eventually } from '../support/eventually.js';

const MACHINES = 12;
const PARTITIONS = 4;

interface Outcome {
  type: string;
  machineId: string;
  source: { partition: number; messageId: string };
}

describe('answers of two processes for their group', () => {
  let plant: ChaosPlant;
  let machineIds: string[];
  let bridges: AppProcess[];

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: MACHINES, partitions: PARTITIONS });
    machineIds = (await plant.sandbox.machines())
      .map(({ machineId }) => machineId)
      .slice(0, MACHINES);
    await startBoth();
    for (const machineId of machineIds) await sendList(machineId, 'first');
  });

  afterAll(() => plant.close());

  const startBoth = async (): Promise<void> => {
    bridges = [plant.startBridge(), plant.startBridge()];
    await Promise.all(bridges.map((bridge) => bridge.ready()));
    await plant.untilShared(2);
  };

  /** Waits until the answers of both processes are as expected: each reads the other's data from Kafka. */
  const bothAnswer = async <T>(
    path: string,
    what: string,
    isAwaited: (answer: T) => boolean,
  ): Promise<T[]> =>
    eventually(what, async () => {
      const answers = await Promise.all(
        bridges.map(async (bridge) => {
          const response = await fetch(`${await bridge.url()}${path}`);
          if (!response.ok) throw new Error(`${path}: ${response.status}`);
          return (await response.json()) as T;
        }),
      );
      if (!answers.every(isAwaited)) throw new Error(JSON.stringify(answers));
      return answers;
    });

  const bothShow = (
    what: string,
    isAwaited: (workOrders: GroupFlow) => boolean,
  ): Promise<GroupFlow[]> =>
    bothAnswer<GroupFlow[]>('/api/flows', what, (flows) => {
      const flow = flows.find(({ name }) => name === 'work-orders');
      return flow?.processes.length === 2 && isAwaited(flow);
    }).then((answers) =>
      answers.map((flows) => flows.filter(({ name }) => name === 'work-orders')).flat(),
    );

  const bothSearch = async (
    query: string,
    what: string,
    isAwaited: (outcomes: Outcome[]) => boolean,
  ): Promise<Outcome[][]> => {
    const answers = await bothAnswer<{ outcomes: Outcome[]; cut: string | null }>(
      `/api/outcomes?${query}`,
      what,
      ({ outcomes, cut }) => cut === null && isAwaited(outcomes),
    );
    return answers.map(({ outcomes }) => outcomes);
  };

  const sendList = (machineId: string, order: string): Promise<void> =>
    plant.kafka.sendList(machineId, [order], { 'message-id': `${order}-${machineId}` });

  const control = async (
    bridge: AppProcess | undefined,
    what: 'pause' | 'resume',
    body: unknown,
  ): Promise<GroupFlow> => {
    const response = await fetch(`${await bridge?.url()}/api/flows/work-orders/${what}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as GroupFlow;
  };

  /** A machine whose lists it applies, for each process of the group by name. */
  const machineOfEach = async (): Promise<Map<string, string>> => {
    const [flow] = await bothShow('both have partitions', ({ processes }) => {
      const owned = processes.flatMap((each) => each.partitions[TOPICS.workOrderLists] ?? []);
      return new Set(owned).size === PARTITIONS && owned.length === PARTITIONS;
    });
    const [outcomes = []] = await bothSearch(
      'orderId=first',
      'the first lists',
      (found) => found.length === MACHINES,
    );
    return new Map(
      flow?.processes.map(({ process, partitions }) => {
        const owned = partitions[TOPICS.workOrderLists] ?? [];
        const outcome = outcomes.find(({ source }) => owned.includes(source.partition));
        if (outcome === undefined) throw new Error(`no machine of ${process}`);
        return [process, outcome.machineId];
      }),
    );
  };

  it('contain the whole history of commands of both processes', async () => {
    await sendList('M-404', 'first');
    const [one, other] = await bothSearch(
      'orderId=first',
      'all lists are applied',
      (found) => found.length === MACHINES,
    );
    expect(other).toEqual(one);
    expect(one?.map(({ machineId }) => machineId).sort()).toEqual(machineIds);
    const each = [...(await machineOfEach()).values()];
    expect(new Set(each).size).toBe(2);
    for (const machineId of [...each, 'M-404']) {
      const [ofOne, ofOther] = await bothSearch(
        `machineId=${machineId}&messageId=first-${machineId}`,
        `the list of ${machineId} is final`,
        (found) => found.length === 1,
      );
      expect(ofOther).toEqual(ofOne);
    }
  });

  it('contain the latest error of each process, and the later one for the group', async () => {
    let latestAt = 0;
    for (const [process, machineId] of await machineOfEach()) {
      const status = latestAt === 0 ? 503 : 500;
      // errors of the same second have no order
      await eventually('the second is over', () => Date.now() / 1000 >= latestAt + 1);
      await plant.sandbox.replaceFaults([
        { operation: 'setWorkOrderList', machineId, status, count: 1 },
      ]);
      await sendList(machineId, `after-${status}`);
      const flows = await bothShow(`the error of ${process}`, ({ lastError, processes }) => {
        const own = processes.find((share) => share.process === process)?.lastError ?? null;
        return own?.why.includes(String(status)) === true && lastError?.at === own.at;
      });
      expect(flows[1]?.lastError).toEqual(flows[0]?.lastError);
      const others = flows[0]?.processes.filter((share) => share.process !== process) ?? [];
      expect(others.map(({ lastError }) => lastError?.why)).not.toContain(flows[0]?.lastError?.why);
      latestAt = flows[0]?.lastError?.at ?? 0;
      await plant.sandbox.listBecomes(machineId, [`after-${status}`]);
    }
    expect(latestAt).toBeGreaterThan(0);
  });

  it('show since when and why a flow is paused when one process reaches nothing', async () => {
    const [[process = '', machineId = ''] = []] = await machineOfEach();
    await plant.sandbox.replaceFaults([{ operation: 'setWorkOrderList', machineId, status: 503 }]);
    await sendList(machineId, 'while-503');
    const [one, other] = await bothShow(
      'one of them reports the pause',
      ({ state }) => state === 'paused',
    );
    expect(one).toMatchObject({ by: null, why: expect.stringContaining('503') as string });
    for (const flow of [one, other]) {
      expect(flow?.since).toBeGreaterThan(0);
      const states = flow?.processes.map((share) => [share.process === process, share.state]);
      expect(states?.sort()).toEqual([
        [false, 'running'],
        [true, 'paused'],
      ]);
    }
    expect(other?.since).toBe(one?.since);
    await plant.sandbox.clearFaults();
    const after = await bothShow('the flow goes on', ({ state }) => state === 'running');
    for (const flow of after) expect(flow).toMatchObject({ why: null, since: null, by: null });
    await plant.sandbox.listBecomes(machineId, ['while-503']);
    // and committed, or else a killed process leaves it to the next one
    await bothSearch(
      `machineId=${machineId}&messageId=while-503-${machineId}`,
      'its outcome is published',
      (found) => found.length > 0,
    );
  });

  it('show who paused a flow, why and since when, even after both restart', async () => {
    const { since } = await control(bridges[0], 'pause', { reason: 'an audit', by: 'Ada' });
    expect(since).toBeGreaterThan(0);
    const pause = { state: 'pausedByHand', why: 'an audit', by: 'Ada', since };
    const expectPaused = async (): Promise<void> => {
      const flows = await bothShow('both are paused', ({ processes, state }) =>
        [state, ...processes.map((share) => share.state)].every((it) => it === 'pausedByHand'),
      );
      for (const flow of flows) {
        expect(flow).toMatchObject(pause);
        for (const share of flow.processes) expect(share).toMatchObject({ why: 'an audit', since });
      }
    };
    await expectPaused();
    const [first, second] = bridges;
    first?.kill('SIGKILL');
    second?.kill('SIGTERM');
    await Promise.all([first?.exitCode(), second?.exitCode()]);
    await startBoth();
    await expectPaused();
    const [machineId = ''] = machineIds;
    await sendList(machineId, 'held');
    await bothShow('the list waits', ({ waiting }) => waiting === 1);
    await control(bridges[1], 'resume', { by: 'Eve' });
    await plant.sandbox.listBecomes(machineId, ['held']);
    const flows = await bothShow('both run', ({ processes, state }) =>
      [state, ...processes.map((share) => share.state)].every((it) => it === 'running'),
    );
    for (const flow of flows) expect(flow).toMatchObject({ why: null, since: null, by: null });
  });
});
