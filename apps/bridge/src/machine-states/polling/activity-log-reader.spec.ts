import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { ManualClock } from '#libs/clock';
import type { MachineCloudClient } from '#libs/cloud-client';
import { StubService } from '../../../../../libs/http-calls/test/stub-service.js';
import { bridgeSettings, clientOf } from '../../platform/testing/bridge-settings.js';
import { LONGEST_WINDOW_SECONDS } from '../derivation/activity-log.js';
import { ActivityLogReader, activityWindows } from './activity-log-reader.js';

const T0 = 1_763_680_020;
const never = { signal: undefined };
const SETTINGS = bridgeSettings();
const MACHINES = Array.from({ length: 20 }, (_, index) => `M-${index}`);

describe('ActivityLogReader', () => {
  let service: StubService;
  let client: MachineCloudClient;
  let reader: ActivityLogReader;
  let status: number;
  let asked: number;
  let clock: ManualClock;
  /** Requests that are not answered; undefined if all are. */
  let held: ServerResponse[] | undefined;

  const read = async (machineId: string): Promise<string> =>
    (await reader.readWindows(machineId, T0 - 3600, T0, never)).kind;

  const readAll = async (): Promise<string[]> => {
    const kinds: string[] = [];
    for (const machineId of MACHINES) {
      clock.advance(1);
      kinds.push(await read(machineId));
    }
    return kinds;
  };

  beforeEach(async () => {
    asked = 0;
    clock = new ManualClock();
    held = undefined;
    service = await StubService.start();
    service.answers((_, response) => {
      asked += 1;
      if (held === undefined) response.writeHead(status).end();
      else held.push(response);
    });
    client = clientOf(bridgeSettings({ MACHINE_CLOUD_BASE_URL: service.baseUrl }));
    reader = new ActivityLogReader(client, SETTINGS, clock);
  });

  afterEach(async () => {
    await client.closeConnections();
    await service.stop();
  });

  it('only probes while no log is answered, and reads all again after the first answer', async () => {
    status = 503;
    expect(await readAll()).toEqual(MACHINES.map(() => 'retry'));
    expect(asked).toBeLessThan(20);
    asked = 0;
    for (let round = 0; round < 5; round += 1) await readAll();
    expect(asked).toBeLessThan(80);
    status = 204;
    clock.advance(5);
    expect(await read('M-1')).toBe('noData');
    asked = 0;
    expect(await readAll()).toEqual(MACHINES.map(() => 'noData'));
    expect(asked).toBe(MACHINES.length);
  });

  it('reads logs however many others fail in a row, if some are answered', async () => {
    for (let minute = 0; minute < 3; minute += 1) {
      status = 503;
      for (let round = 0; round < 30; round += 1)
        expect(await read(`failing-${round}`)).toBe('retry');
      status = 204;
      expect(await read('M-1')).toBe('noData');
      clock.advance(60);
    }
    expect(asked).toBe(93);
  });

  it('reads only a few logs at a time that failed before, and others at once', async () => {
    status = 503;
    await read('M-1');
    held = [];
    asked = 0;
    const again = MACHINES.map((machineId) =>
      reader.readWindows(machineId, T0 - 3600, T0, never, true).then(({ kind }) => kind),
    );
    const fresh = read('M-fresh');
    while (held.length < 9) await turn();
    expect(asked).toBe(9);
    for (const response of held) response.writeHead(204).end();
    expect(await fresh).toBe('noData');
    const kinds = await Promise.all(again);
    expect(kinds.filter((kind) => kind === 'noData')).toHaveLength(8);
    expect(kinds.filter((kind) => kind === 'retry')).toHaveLength(12);
  });

  it('counts a refusal as an answer', async () => {
    status = 422;
    expect(await readAll()).toEqual(MACHINES.map(() => 'rejected'));
    expect(asked).toBe(MACHINES.length);
  });
});

describe('activityWindows', () => {
  it('covers a period with adjacent windows, none longer than 30 days', () => {
    fc.assert(
      fc.property(fc.nat(2e9), fc.nat(2e7), (from, length) => {
        const windows = activityWindows(from, from + length);
        let until = from;
        for (const { startTime, endTime } of windows) {
          expect(startTime).toBe(until);
          expect(endTime - startTime).toBeLessThanOrEqual(LONGEST_WINDOW_SECONDS);
          until = endTime;
        }
        expect(until).toBe(from + length);
      }),
    );
  });
});
