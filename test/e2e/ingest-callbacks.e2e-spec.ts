import { writeFileSync } from 'node:fs';
import { realEpochMs } from '#libs/clock';
import { CallbackReceiver, isSigned } from '../support/callback-receiver.js';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';
import { postUntilTaken, RunningIngest } from '../support/running-ingest.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const SECRET = 'secret-of-the-callbacks';
const KEY_OF_B = Buffer.from('key of the callbacks of b');

const TOKENS = { a: 'token-of-sender-a-0', b: 'token-of-sender-b-0', c: 'token-of-sender-c-0' };

describe('outcome callbacks to the sender', () => {
  let sendersFile: string;
  let plant: Plant;
  let ingest: RunningIngest;
  let a: CallbackReceiver;
  let b: CallbackReceiver;
  let machines: string[];
  let sent = 0;

  const startIngest = async (): Promise<void> => {
    const started = await RunningIngest.start('', {
      ...{ KAFKA_BROKERS: testBrokers().join(','), KAFKA_TOPIC_PREFIX: plant.kafka.topicPrefix },
      ...{ KAFKA_GROUP_ID: plant.groupId, INGEST_SENDERS_FILE: sendersFile, ...plant.clockEnv },
    });
    ingest = await started.ready();
  };

  /** Sets a list of a machine, and returns the id of the request. */
  const send = async (sender: keyof typeof TOKENS, machineId: string): Promise<string> => {
    sent += 1;
    const id = `list-${sender}-${sent}`;
    const list = { machineId, workingOrders: [`order-${sent}`] };
    await postUntilTaken(ingest.url, '/lists', list, {
      ...{ authorization: `Bearer ${TOKENS[sender]}`, 'idempotency-key': id },
    });
    return id;
  };

  /** Sets the operations of an order; returns the id of the request. */
  const sendOrder = async (
    sender: keyof typeof TOKENS,
    orderId: string,
    machineIds: string[],
  ): Promise<string> => {
    sent += 1;
    const id = `order-${sender}-${sent}`;
    const operations = machineIds.map((machineId, at) => ({
      ...{ operationId: `00${at + 1}0`, machineId, status: 'released' },
    }));
    const order = { orderId, changedAt: 1_763_680_000, status: 'released', operations };
    await postUntilTaken(ingest.url, '/orders', order, {
      ...{ authorization: `Bearer ${TOKENS[sender]}`, 'idempotency-key': id },
    });
    return id;
  };

  const metric = async (line: RegExp): Promise<boolean> => {
    const authorization = `Bearer ${TOKENS.a}`;
    const response = await fetch(`${ingest.url}/metrics`, { headers: { authorization } });
    return line.test(await response.text());
  };

  beforeAll(async () => {
    [a, b] = await Promise.all([CallbackReceiver.start(), CallbackReceiver.start()]);
    plant = await startPlant({ env: { BRIDGE_FLOWS: 'work-orders' } });
    machines = (await plant.sandbox.machines()).map(({ machineId }) => machineId);
    const paths = ['/lists', '/orders', '/metrics'];
    const keyFile = temporaryFile('key-of-b', `whsec_${KEY_OF_B.toString('base64')}`);
    const mapping = `{"AUFNR": data.workingOrders[0], "ref": data.source.messageId,
      "STATUS": type = "work-order-list.applied.v1" ? "OK" : data.code}`;
    const senders = {
      a: { token: TOKENS.a, paths, callback: { url: a.url, hmacSecret: SECRET } },
      b: {
        ...{ token: TOKENS.b, paths },
        callback: { url: b.url, hmacSecretFile: keyFile, mapping },
      },
      c: { token: TOKENS.c, paths },
    };
    sendersFile = temporaryFile('senders.json', { senders });
    await startIngest();
  });

  afterAll(async () => {
    await ingest.close();
    await plant.close();
    await Promise.all([a.close(), b.close()]);
  });

  beforeEach(() => {
    for (const receiver of [a, b]) Object.assign(receiver, { status: 200, headers: {} });
  });

  it('are posted as signed CloudEvents only to the sender of the message', async () => {
    const [machineId = ''] = machines;
    const others = await send('c', machines[1] ?? '');
    const id = await send('a', machineId);
    const call = await a.untilCalled(id);
    const event = JSON.parse(call.body) as Record<string, unknown>;
    expect(event).toMatchObject({
      ...{ specversion: '1.0', type: 'work-order-list.applied.v1', source: '/machine-bridge' },
      ...{ subject: machineId, id: call.headers['webhook-id'] },
      data: { machineId, code: null, source: { messageId: id, sender: 'a' } },
    });
    expect(call.headers['content-type']).toBe('application/cloudevents+json; charset=UTF-8');
    expect([isSigned(call, SECRET), isSigned(call, 'another-secret')]).toEqual([true, false]);
    expect([...a.callsAbout(others), ...b.callsAbout(others), ...b.callsAbout(id)]).toEqual([]);
  });

  it('are mapped, including rejections', async () => {
    const applied = await b.untilCalled(await send('b', machines[2] ?? ''));
    expect(applied.headers['content-type']).toBe('application/json');
    expect(JSON.parse(applied.body)).toMatchObject({ STATUS: 'OK', AUFNR: `order-${sent}` });
    expect(isSigned(applied, KEY_OF_B)).toBe(true);
    const refused = await b.untilCalled(await send('b', 'no-machine'));
    expect(JSON.parse(refused.body)).toMatchObject({ STATUS: 'unknown-machine' });
  });

  it('are posted for an order, one per machine', async () => {
    const its = [machines[3] ?? '', machines[4] ?? ''];
    const others = await sendOrder('c', '4710', [machines[5] ?? '']);
    const id = await sendOrder('a', '4711', its);
    await a.untilCalled(id, its.length);
    const calls = a.callsAbout(id);
    expect(calls.map(({ headers }) => String(headers['content-type']))).toEqual(
      its.map(() => 'application/cloudevents+json; charset=UTF-8'),
    );
    expect(calls.map((call) => isSigned(call, SECRET))).toEqual(its.map(() => true));
    const events = calls.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    expect(events.map(({ id: eventId }) => eventId)).toEqual(calls.map((call) => call.id));
    expect(new Set(calls.map((call) => call.id)).size).toBe(its.length);
    expect(new Map(events.map(({ subject, ...event }) => [subject, event]))).toEqual(
      new Map(
        its.map((machineId) => [
          machineId,
          expect.objectContaining({
            type: 'work-order-list.applied.v1',
            data: expect.objectContaining({
              ...{ machineId, orderId: '4711', workingOrders: ['4711'], code: null },
              source: expect.objectContaining({ messageId: id, sender: 'a' }) as object,
            }) as object,
          }) as object,
        ]),
      ),
    );
    for (const machineId of its) await plant.sandbox.listBecomes(machineId, ['4711']);
    expect(a.callsAbout(others)).toEqual([]);
  });

  it('are posted for a rejected order, with the code and the reason', async () => {
    const call = await a.untilCalled(await sendOrder('a', '4712', ['no-machine']));
    const event = JSON.parse(call.body) as Record<string, unknown>;
    expect(event).toMatchObject({
      ...{ type: 'work-order-list.rejected.v1', id: call.id, subject: 'no-machine' },
      data: { machineId: 'no-machine', orderId: '4712', code: 'unknown-machine' },
    });
    expect(isSigned(call, SECRET)).toBe(true);
  });

  it('are repeated in order once the receiver is back, and each is accepted once', async () => {
    a.status = 503;
    const first = await send('a', machines[0] ?? '');
    await a.untilCalled(first, 2);
    const second = await send('a', machines[0] ?? '');
    const before = a.callsAbout(first).length;
    a.status = 200;
    await a.untilCalled(second);
    const ids = new Set(a.callsAbout(first).map(({ headers }) => headers['webhook-id']));
    expect([ids.size, a.callsAbout(second).length]).toEqual([1, 1]);
    // One may have been answered 503 while the status changed; the accepted one is the last.
    expect(a.callsAbout(first).length - before).toBeGreaterThanOrEqual(1);
    expect(a.calls.at(-1)?.body).toContain(second);
    expect(
      await metric(/^machine_ingest_callback_calls_total\{sender="a",status="503"\} \d/m),
    ).toBe(true);
  });

  it('appear as failing since a time in /health/ready, which stays 200', async () => {
    const ready = async (): Promise<string> => {
      const answer = await fetch(`${ingest.url}/health/ready`);
      expect(answer.status).toBe(200);
      const { info } = (await answer.json()) as { info: { callbacks: { message?: string } } };
      return info.callbacks.message ?? 'none';
    };
    const before = Math.floor(realEpochMs() / 1000);
    a.status = 503;
    const id = await send('a', machines[0] ?? '');
    await a.untilCalled(id);
    const pattern = /^a: calls fail since (\S+) \(503\)$/;
    const since = await eventually(
      'ready names the sender',
      async () => pattern.exec(await ready())?.[1],
    );
    await a.untilCalled(id, 2);
    expect(await ready()).toBe(`a: calls fail since ${since} (503)`);
    const sinceSeconds = Date.parse(since) / 1000;
    expect(sinceSeconds).toBeGreaterThanOrEqual(before);
    expect(sinceSeconds).toBeLessThanOrEqual(realEpochMs() / 1000);
    await b.untilCalled(await send('b', machines[0] ?? ''));
    a.status = 200;
    await eventually('ready names nobody', async () => (await ready()) === 'none');
  });

  it('wait for no dead receiver of another sender, nor does a stop', async () => {
    Object.assign(a, { status: 503, headers: { 'retry-after': '600' } });
    const waiting = await send('a', machines[0] ?? '');
    const call = await a.untilCalled(waiting);
    await b.untilCalled(await send('b', machines[0] ?? ''));
    expect(await metric(/^machine_ingest_callback_waiting\{sender="a"\} 1$/m)).toBe(true);
    a.status = 200;
    await ingest.close();
    await startIngest();
    const again = await a.untilCalled(waiting, 2);
    expect(again.headers['webhook-id']).toBe(call.headers['webhook-id']);
    expect(again.body).toBe(call.body);
  });

  it('are repeated after a redirect, such as to a maintenance page', async () => {
    Object.assign(a, { status: 302, headers: { location: '/maintenance' } });
    const id = await send('a', machines[0] ?? '');
    await a.untilCalled(id);
    Object.assign(a, { status: 200, headers: {} });
    await a.untilCalled(id, 2);
  });

  it('are given up when the receiver refuses them, and the next one is posted', async () => {
    a.status = 400;
    // the alert is on a rise of the counter, which begins at 0
    const none = /^machine_ingest_callback_outcomes_total\{sender="a",result="refused"\} 0$/m;
    expect(await metric(none)).toBe(true);
    const refused = await send('a', machines[0] ?? '');
    await a.untilCalled(refused);
    const line = /^machine_ingest_callback_outcomes_total\{sender="a",result="refused"\} 1$/m;
    await eventually('the refusal is counted', () => metric(line));
    a.status = 200;
    await a.untilCalled(await send('a', machines[0] ?? ''));
    expect(a.callsAbout(refused)).toHaveLength(1);
  });

  it('obey a changed senders file at once, including its time limit', async () => {
    Object.assign(a, { status: 503, headers: { 'retry-after': '600' } });
    const waiting = await send('a', machines[0] ?? '');
    await a.untilCalled(waiting);
    a.headers = {};
    const senders = {
      a: {
        ...{ token: TOKENS.a, paths: ['/lists', '/metrics'] },
        callback: { url: a.url, hmacSecret: 'another-secret-by-now', giveUpAfterSeconds: 1 },
      },
    };
    writeFileSync(sendersFile, JSON.stringify({ senders }));
    await eventually('the callback of b is gone', () =>
      metric(/^(?![^]*machine_ingest_callback_waiting\{sender="b"\})/),
    );
    const id = await send('a', machines[0] ?? '');
    const calls = [await a.untilCalled(waiting, 2), await a.untilCalled(id)];
    expect(calls.map((call) => isSigned(call, 'another-secret-by-now'))).toEqual([true, true]);
    const line = /^machine_ingest_callback_outcomes_total\{sender="a",result="expired"\} 2$/m;
    await eventually('it is given up', () => metric(line));
  });
});
