import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';

const BUSY_MACHINES = 30;
const REASONS_EACH = 20;
const FEW = 5;

interface Reasons {
  reasons: { code: string }[];
}

interface Machine {
  machineId: string;
  reasonId: string;
}

describe('a partition with few messages', () => {
  let plant: Plant;

  beforeAll(async () => {
    plant = await startPlant({
      // Some have no reasons.
      sandboxEnv: { SANDBOX_MACHINES: String(2 * BUSY_MACHINES) },
      env: { MACHINE_CLOUD_MAX_CONCURRENCY: '2' },
    });
  });

  afterAll(() => plant.close());

  const machinesWithReasons = async (): Promise<Machine[]> => {
    const machines: Machine[] = [];
    for (const { machineId } of await plant.sandbox.machines()) {
      const path = `/api/v1/machineClassifications?machineId=${machineId}`;
      const headers = { authorization: 'Bearer sandbox-token' };
      const response = await fetch(`${plant.sandbox.url}${path}`, { headers });
      const text = await response.text();
      const { reasons } = (text === '' ? { reasons: [] } : JSON.parse(text)) as Reasons;
      for (const { code } of reasons.slice(0, 1)) machines.push({ machineId, reasonId: code });
    }
    return machines;
  };

  it('has its turns while another one is full of them', async () => {
    const [quiet, ...others] = await machinesWithReasons();
    const busy = others.slice(0, BUSY_MACHINES);
    expect(busy).toHaveLength(BUSY_MACHINES);
    const begin = plant.clock.nowSeconds() - 7200;
    const reasonOf = ({ machineId, reasonId }: Machine, index: number, partition: number) => {
      const times = { startTime: begin + index * 60, endTime: begin + index * 60 + 60 };
      return {
        partition,
        key: machineId,
        value: JSON.stringify({ machineId, reasonId, ...times }),
      };
    };
    const rounds = Array.from({ length: REASONS_EACH }, (_, round) => round);
    const many = rounds.flatMap((round) => busy.map((machine) => reasonOf(machine, round, 0)));
    const few = rounds.slice(0, FEW).map((round) => reasonOf(quiet!, round, 1));

    const operation = 'setMachineClassification';
    await plant.sandbox.addFault({ operation, latencyMs: 20 });
    // in one step: what comes later would find the busy partition some rounds ahead
    await plant.kafka.send(TOPICS.downtimeReasons, ...many, ...few);

    const all = many.length + few.length;
    await eventually(async () => (await plant.sandbox.countCalls(operation, 0, all)) === all, {
      what: 'all reasons have reached the service',
      timeoutMs: 110_000,
    });
    const order = (await plant.sandbox.calls(operation)).map(({ machineIds: [first] }) => first);
    // A round of all machines for each of its messages, and some that were over before these came.
    const roundsNeeded = (order.lastIndexOf(quiet!.machineId) + 1) / (BUSY_MACHINES + 1);
    // Fewer where busy machines still wait for their reasons to be looked up; ahead of all it would take one round.
    expect(roundsNeeded).toBeGreaterThan(FEW / 2);
    expect(roundsNeeded).toBeLessThan(FEW + 5);
  });
});
