import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { fixedToken, MachineCloudClient } from '#libs/cloud-client';
import { ActivityLogReader } from './activity-log-reader.js';

const T0 = 1_763_680_020;
const never = new AbortController().signal;
const MACHINES = Array.from({ length: 20 }, (_, index) => `M-${index}`);

describe('ActivityLogReader', () => {
  let server: Server;
  let client: MachineCloudClient;
  let reader: ActivityLogReader;
  let status: number;
  let asked: number;

  const read = async (machineId: string): Promise<string> =>
    (await reader.read(machineId, T0 - 3600, T0, never)).kind;

  const readAll = async (): Promise<string[]> => {
    const kinds: string[] = [];
    for (const machineId of MACHINES) kinds.push(await read(machineId));
    return kinds;
  };

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(async () => {
    asked = 0;
    server = createServer((_, response) => {
      asked += 1;
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = new MachineCloudClient({ baseUrl, token: fixedToken('a-token') });
    reader = new ActivityLogReader(client);
  });

  afterEach(async () => {
    await client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('asks now and then while nobody’s log is answered, and for all again after the first that is', async () => {
    status = 503;
    expect(await readAll()).toEqual(MACHINES.map(() => 'retry'));
    expect(asked).toBeLessThan(10);
    status = 204;
    while ((await read('M-1')) === 'retry') await realDelayMs(5);
    asked = 0;
    expect(await readAll()).toEqual(MACHINES.map(() => 'data'));
    expect(asked).toBe(MACHINES.length);
  });

  it('takes a refusal for an answer', async () => {
    status = 422;
    expect(await readAll()).toEqual(MACHINES.map(() => 'rejected'));
    expect(asked).toBe(MACHINES.length);
  });
});
