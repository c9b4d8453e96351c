import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { everyRealMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { runCommand } from '../support/run-command.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

interface Entry {
  plant: string;
  workCentre: string;
  machineId: string;
}

/** The machines in whose lists an order has an operation. */
async function machinesOf({ sandbox }: Plant, orderId: string): Promise<string> {
  return (await sandbox.machines())
    .filter(({ workingOrders }) => workingOrders.includes(orderId))
    .map(({ machineId }) => machineId)
    .sort()
    .join();
}

describe('the equipment map', () => {
  const file = join(temporaryFolder(), 'map.yaml');
  let plant: Plant;
  let changedAt = 1_763_680_000;

  /** Replaces the map in one step, as is recommended. */
  const replaceMap = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };

  const sendOrder = (orderId: string, ...workCentres: string[]): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrders, orderId, {
      ...{ orderId, status: 'released', changedAt: (changedAt += 1) },
      operations: workCentres.map((workCentre, index) => ({
        ...{ operationId: `00${index + 1}0`, plant: '1000', workCentre, status: 'released' },
      })),
    });

  const unmapped = async (): Promise<string[]> => {
    const answer = await fetch(`${plant.bridgeUrl}/api/equipment/unmapped`);
    return ((await answer.json()) as Entry[]).map(({ workCentre }) => workCentre).sort();
  };

  beforeAll(async () => {
    replaceMap('- { plant: "1000", workCentre: "KNOWN", machineId: "M-001" }\n');
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: file } });
  });

  afterAll(() => plant.close());

  it('gets proposed entries for work centres of orders, and is read with them', async () => {
    await sendOrder('P-1', 'm_02', 'NOWHERE');
    await eventually('they are not mapped', async () => (await unmapped()).length === 2);
    const propose = async (...options: string[]) => {
      const args = ['erp', 'map', '--bridge', plant.bridgeUrl, ...options];
      const { stdout, exitCode } = await runCommand(args, { topicPrefix: '' });
      expect(exitCode).toBe(0);
      return stdout;
    };
    const [first = '', ...others] = (await propose('--json')).trim().split('\n').sort();
    expect([JSON.parse(first), others.length]).toMatchObject([
      { workCentre: 'NOWHERE', operations: 1, proposals: [], isClear: false },
      1,
    ]);
    const proposed = await propose();
    expect(proposed).toMatch(
      /^- \{ plant: "1000", workCentre: "m_02", machineId: "M-002" \} # 0\.95 the same id but for its spelling: /m,
    );
    expect(proposed).toMatch(
      /^# no machine is like plant 1000, work centre NOWHERE: 1 operation, such as of /m,
    );
    replaceMap(`- { plant: "1000", workCentre: "KNOWN", machineId: "M-001" }\n${proposed}`);
    await eventually('the proposal is in use', async () => (await unmapped()).join() === 'NOWHERE');
    await sendOrder('P-2', 'm_02');
    await eventually(
      'the order is in the list of the machine',
      async () => (await machinesOf(plant, 'P-2')) === 'M-002',
    );
  });
});

/** Parsing 50,000 entries of YAML in one turn takes 3 s. */
const LONGEST_TURN_SECONDS = 1;

/**
 * Measures the longest turn of the event loop in CPU seconds of this thread, which unlike elapsed time are the
 * same on a busy machine. The returned function returns it. Linux only.
 */
function watchTurns(): () => number {
  const cpuSeconds = (): number =>
    Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e9;
  let [last, longest] = [cpuSeconds(), 0];
  const stop = everyRealMs(10, () => {
    const now = cpuSeconds();
    longest = Math.max(longest, now - last);
    last = now;
  });
  return () => {
    stop();
    return longest;
  };
}

// JSON is also YAML
describe.each(['json', 'yaml'])(
  'a %s map of 50,000 entries that is replaced under a stream of orders',
  (type) => {
    const ENTRIES = 50_000;
    const file = join(temporaryFolder(), `map.${type}`);
    let plant: Plant;

    /** The first and last work centre have their own machines, so that the test would notice half a map. */
    function replaceMap(first: string, last: string): void {
      const entries = Array.from({ length: ENTRIES }, (_, index) => ({
        ...{ plant: '1000', workCentre: `WC-${index}` },
        machineId: index === 0 ? first : index === ENTRIES - 1 ? last : `X-${index}`,
      }));
      writeFileSync(`${file}.new`, JSON.stringify(entries));
      renameSync(`${file}.new`, file);
    }

    beforeAll(async () => {
      replaceMap('M-001', 'M-002');
      plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: file } });
    });

    afterAll(() => plant.close());

    it('places each order by exactly one map, and stays in use while the file is broken', async () => {
      /** The log messages of the bridge. */
      const said: unknown[] = [];
      const sent: string[] = [];
      const send = async (): Promise<void> => {
        const orderId = `R-${sent.length}`;
        sent.push(orderId);
        const operations = ['WC-0', `WC-${ENTRIES - 1}`].map((workCentre, index) => ({
          ...{ operationId: `00${index + 1}0`, plant: '1000', workCentre, status: 'released' },
        }));
        const order = { orderId, changedAt: 1_763_680_000, status: 'released', operations };
        await plant.kafka.sendJson(TOPICS.workOrders, orderId, order);
      };
      const sendAndPlace = async (): Promise<string> => {
        await send();
        const orderId = `R-${sent.length - 1}`;
        return eventually('the order is in two lists', async () => {
          const machines = await machinesOf(plant, orderId);
          return machines.includes(',') && machines;
        });
      };
      const sendUntilSaid = (text: string): Promise<unknown> => {
        said.length = 0;
        return eventually(text, () => send().then(() => said.includes(text)));
      };
      for (const level of ['log', 'error'] as const) {
        jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => {
          said.push((line as { msg?: string }).msg);
        });
      }
      const longestTurnSeconds = watchTurns();
      expect(await sendAndPlace()).toBe('M-001,M-002');
      replaceMap('M-003', 'M-004');
      await sendUntilSaid('equipment map read again');
      writeFileSync(file, '[{"plant": "1000", "workCentre": "WC-0", "mach');
      await sendUntilSaid('equipment map not read, the last one holds');
      expect(await sendAndPlace()).toBe('M-003,M-004');
      replaceMap('M-001', 'M-002');
      await sendUntilSaid('equipment map read again');
      expect(await sendAndPlace()).toBe('M-001,M-002');
      expect(longestTurnSeconds()).toBeLessThan(LONGEST_TURN_SECONDS);
      const found = await eventually('all orders are in lists', async () => {
        const all = await Promise.all(sent.map((orderId) => machinesOf(plant, orderId)));
        return all.every((machines) => machines.includes(',')) && all;
      });
      expect(new Set(found)).toEqual(new Set(['M-001,M-002', 'M-003,M-004']));
      expect(await plant.kafka.topics.count(`${TOPICS.workOrders}.dlq`)).toBe(0);
    });
  },
);
