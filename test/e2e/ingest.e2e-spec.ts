import { jest } from '@jest/globals';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { json as readJson } from 'node:stream/consumers';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type Place, post, RunningIngest } from '../support/running-ingest.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { captureLogs } from '../../libs/logging/test/captured-logs.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const ORDER = {
  orderId: '4711',
  changedAt: 1_763_680_000,
  status: 'released',
  operations: [{ operationId: '0010', machineId: 'M-1', status: 'released' }],
};
const LIST = { machineId: 'M-1', workingOrders: ['4711', '4712'] };
const REASON = { machineId: 'M-2', reasonId: '22', startTime: 1_763_680_000 };
const TOPICS = ['erp.work-orders.v1', 'erp.work-order-lists.v1', 'mes.downtime-reasons.v1'];
const EVENT = { specversion: '1.0', source: '/erp', type: 'com.example.list.changed' };

describe('ingest', () => {
  const prefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), prefix);
  const sendersFile = join(temporaryFolder(), 'senders.json');
  const running: RunningIngest[] = [];
  let ingest: RunningIngest;
  let topics: TopicReader;

  async function start(instance: string, env: Record<string, string> = {}): Promise<RunningIngest> {
    const started = await RunningIngest.start(prefix, { INGEST_INSTANCE: instance, ...env });
    running.push(started);
    return started.ready();
  }

  async function stop(stopped: RunningIngest): Promise<void> {
    running.splice(running.indexOf(stopped), 1);
    await stopped.close();
  }

  function at({ topic, partition, offset }: Place): Promise<ReadRecord> {
    return topics.find(
      `a record at ${topic} ${partition} ${offset}`,
      (record) =>
        prefix + record.topic === topic &&
        record.partition === partition &&
        record.offset === offset,
    );
  }

  /** Repeats the request until it is accepted, as a sender does on a busy machine. */
  const take = (by: RunningIngest, id: string): Promise<{ status: number; place: Place }> =>
    eventually(`${id} is taken`, async () => {
      const answer = await by.post('/lists', LIST, { 'idempotency-key': id });
      const place = (await answer.json()) as Place;
      return answer.status < 500 && { status: answer.status, place };
    });

  const withId = (id: string) => topics.records.filter((it) => header(it, 'message-id') === id);

  beforeAll(async () => {
    ingest = await start('a');
    topics = await kafka.read(...TOPICS);
  });

  afterAll(async () => {
    await Promise.all(running.map((it) => it.close()));
    await kafka.close();
  });

  it.each([
    ['/orders', ORDER, TOPICS[0], '4711'],
    ['/lists', LIST, TOPICS[1], 'M-1'],
    ['/reasons', REASON, TOPICS[2], 'M-2'],
  ])('writes a document to its topic before it answers: %s', async (path, body, topic, key) => {
    const answer = await ingest.post(path, body);
    const place = (await answer.json()) as Place;
    expect([answer.status, place.topic]).toEqual([202, `${prefix}${topic}`]);
    const record = await at(place);
    expect([record.key?.toString(), json(record)]).toEqual([key, body]);
    expect(header(record, 'message-id')).toBe(place.id);
    expect(header(record, 'content-type')).toBe('application/json');
    expect(header(record, 'ingest-sender')).toBe('local');
  });

  it('forwards a foreign document byte by byte, under the key of its order', async () => {
    const body = `<?xml version="1.0" encoding="UTF-8"?>
      <LOIPRO01><IDOC><EDI_DC40><IDOCTYP>LOIPRO01</IDOCTYP></EDI_DC40></IDOC></LOIPRO01>`;
    const refused = await ingest.post('/orders', body, { 'content-type': 'application/xml' });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: 'invalid-message' },
    ]);
    const spaced = JSON.stringify({ ...ORDER, orderId: '4713' }, null, 3);
    const taken = await ingest.post('/orders', spaced);
    const record = await at((await taken.json()) as Place);
    expect([record.key?.toString(), record.value?.toString()]).toEqual(['4713', spaced]);
  });

  it.each([
    ['/orders', '{', 400, 'invalid-json'],
    ['/orders', '', 400, 'invalid-json'],
    ['/lists', '{"machineId": "M-1"}', 400, 'invalid-message'],
    ['/lists', { ...LIST, issuedAt: 99_999_999_999 }, 400, 'invalid-message'],
    ['/reasons', { machineId: 'M-1', reasonId: '22' }, 400, 'missing-times'],
    ['/events', LIST, 400, 'invalid-message'],
    ['/lists', Buffer.alloc(1_048_577), 413, 'too-large'],
    ['/nowhere', LIST, 404, 'not-found'],
  ])(
    'refuses a document that the bridge would reject entirely: %s %p',
    async (path, body, status, code) => {
      const answer = await ingest.post(path, body);
      expect([answer.status, await answer.json()]).toMatchObject([status, { code }]);
    },
  );

  it('accepts lists that the bridge would reject in part, under the key of the first valid one', async () => {
    const ahead = { ...LIST, machineId: 'M-7', issuedAt: 99_999_999_999 };
    const taken = await ingest.post('/lists', { machines: [ahead, LIST] });
    expect(taken.status).toBe(202);
    const { key } = await at((await taken.json()) as Place);
    expect(key?.toString()).toBe('M-1');
  });

  it('writes repeated requests with one id once, even concurrent ones', async () => {
    const headers = { 'idempotency-key': 'list-1' };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ingest.post('/lists', LIST, headers)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 202]);
    const places = (await Promise.all(answers.map((it) => it.json()))) as Place[];
    for (const place of places) expect(place).toEqual(places[0]);
    await at(places[0]!);
    const other = await ingest.post('/lists', { ...LIST, workingOrders: [] }, headers);
    expect([other.status, await other.json()]).toMatchObject([422, { code: 'id-reused' }]);
    expect(withId('list-1')).toHaveLength(1);
  });

  it('keeps working when all requests go to two processes at the same moment', async () => {
    const other = await start('d');
    const ids = Array.from({ length: 500 }, (_, index) => `twice-${index}`);
    const statuses: number[] = [];
    const left = [...ids];
    const postNext = async (): Promise<void> => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const taken = await Promise.all([take(ingest, id), take(other, id)]);
        statuses.push(...taken.map(({ status }) => status));
      }
    };
    await Promise.all(Array.from({ length: 40 }, postNext));
    expect(statuses.filter((status) => status !== 200 && status !== 202)).toEqual([]);
    await eventually('all is written', () => ids.every((id) => withId(id).length > 0));
    for (const id of ids) expect(withId(id)).toHaveLength(1);
    await stop(other);
  });

  it('recognises an id after a restart and in another process', async () => {
    const first = await start('b');
    const headers = { 'idempotency-key': 'list-2' };
    const written = await first.post('/lists', LIST, headers);
    const place = (await written.json()) as Place;
    const elsewhere = await ingest.post('/lists', LIST, headers);
    expect([elsewhere.status, await elsewhere.json()]).toEqual([200, place]);
    await stop(first);
    const second = await start('b');
    const again = await second.post('/lists', LIST, headers);
    expect([again.status, await again.json()]).toEqual([200, place]);
    await stop(second);
  });

  it('skips foreign records on its own topics', async () => {
    for (const topic of ['machine-bridge.ingest-claims.v1', 'machine-bridge.ingest-receipts.v1']) {
      for (const value of [{}, { claims: [null], receipts: [null] }, { receipts: [{ key: 1 }] }]) {
        await kafka.sendJson(topic, 'theirs', value);
      }
    }
    const restarted = await start('e');
    expect((await take(restarted, 'behind-it')).status).toBe(202);
    await stop(restarted);
  });

  it.each([1, 2])(
    'writes a request to two processes at the same moment once, time %i',
    async (time) => {
      const other = await start('c');
      const ids = Array.from({ length: 30 }, (_, index) => `both-${time}-${index}`);
      const taken = await Promise.all(ids.flatMap((id) => [take(ingest, id), take(other, id)]));
      for (const id of ids) {
        const found = taken.filter(({ place }) => place.id === id);
        expect(found[1]?.place).toEqual(found[0]?.place);
        // no answer is 202 if it was written and answered too late
        expect(found.filter(({ status }) => status === 202).length).toBeLessThanOrEqual(1);
        await at(found[0]!.place);
        expect(withId(id)).toHaveLength(1);
      }
      expect(new Set(taken.map(({ status }) => status))).toEqual(new Set([200, 202]));
      await stop(other);
    },
  );

  it('accepts CloudEvents in binary mode, with their attributes as headers', async () => {
    const answer = await ingest.post('/events', LIST, {
      ...{ 'ce-specversion': '1.0', 'ce-id': 'e-1', 'ce-source': '/erp', 'ce-type': TOPICS[1]! },
      'ce-subject': 'Halle%20%C3%9C',
    });
    expect(answer.status).toBe(202);
    const record = await at((await answer.json()) as Place);
    const names = ['ce_id', 'ce_source', 'ce_subject', 'message-id'];
    expect(names.map((name) => header(record, name))).toEqual([
      ...['e-1', '/erp', 'Halle Ü', undefined],
    ]);
  });

  it('accepts CloudEvents in structured mode and in batches, by the types of the sender', async () => {
    const events = { 'com.example.*.changed': '/lists' };
    const token = 'a-token-of-the-erp';
    writeFileSync(
      sendersFile,
      JSON.stringify({ senders: { erp: { token, paths: ['/events'], events } } }),
    );
    const erp = await start('d', { INGEST_SENDERS_FILE: sendersFile });
    const send = (body: unknown, type: string) =>
      erp.post('/events', body, { 'content-type': type, authorization: `Bearer ${token}` });
    const structured = 'application/cloudevents+json';
    const batched = 'application/cloudevents-batch+json';
    const spaced = JSON.stringify({ ...EVENT, id: 's-1', data: LIST }, null, 2);
    const one = await erp.post('/events', spaced, {
      ...{ 'content-type': structured, authorization: `Bearer ${token}` },
    });
    expect(one.status).toBe(202);
    const record = await at((await one.json()) as Place);
    expect([record.key?.toString(), record.value?.toString()]).toEqual(['M-1', spaced]);
    // the same event in other bytes, alone and in a batch
    expect((await send({ ...EVENT, id: 's-1', data: LIST }, structured)).status).toBe(200);
    const other = { ...LIST, workingOrders: [] };
    expect((await send({ ...EVENT, id: 's-1', data: other }, structured)).status).toBe(422);
    const batch = ['s-1', 's-2', 's-3'].map((id) => ({ ...EVENT, id, data: LIST }));
    const several = await send(batch, batched);
    expect(several.status).toBe(202);
    const places = (await several.json()) as Place[];
    expect(places.map(({ id }) => id)).toEqual(['s-1', 's-2', 's-3']);
    for (const place of places) await at(place);
    expect((await send(batch, batched)).status).toBe(200);
    const unknown = await send([{ ...EVENT, id: 's-4', type: 'other', data: LIST }], batched);
    expect(unknown.status).toBe(400);
    const faulty = [...batch, { ...EVENT, id: 's-5', data: { machineId: '' } }];
    expect((await send(faulty, batched)).status).toBe(400);
    // Event Grid first asks for permission, without naming a sender
    const asked = { method: 'OPTIONS', headers: { 'webhook-request-origin': 'grid.example' } };
    const { status, headers } = await fetch(`${erp.url}/events`, asked);
    const said = ['allow', 'webhook-allowed-origin', 'webhook-allowed-rate'];
    expect([status, ...said.map((name) => headers.get(name))]).toEqual([200, 'POST', '*', '*']);
    const filling = await fetch(`${erp.url}/events`, { ...asked, body: 'a body of nobody' });
    expect(filling.status).toBe(413);
    await stop(erp);
  });

  it('accepts a batch of more events than a second allows, and names the faulty event', async () => {
    const token = 'a-token-of-the-erp';
    const erp = { token, paths: ['/events'], requestsPerSecond: 2 };
    writeFileSync(sendersFile, JSON.stringify({ senders: { erp } }));
    const limited = await start('f', { INGEST_SENDERS_FILE: sendersFile });
    const batched = { 'content-type': 'application/cloudevents-batch+json' };
    const type = TOPICS[1];
    const batch = ['r-1', 'r-2', 'r-3'].map((id) => ({ ...EVENT, id, type, data: LIST }));
    const bearer = { authorization: `Bearer ${token}` };
    expect((await limited.post('/events', batch, { ...batched, ...bearer })).status).toBe(202);
    await stop(limited);

    const faultOf = async (query: string, last: object): Promise<unknown> => {
      const events = [
        { ...EVENT, id: 'r-4', type, data: LIST },
        { ...EVENT, ...last },
      ];
      return (await ingest.post(`/events${query}`, events, batched)).json();
    };
    const empty = { id: 'r-5', type, data: {} };
    const message = 'event 1: machineId is missing';
    expect(await faultOf('', empty)).toMatchObject({ message });
    expect(await faultOf('?dry-run', empty)).toMatchObject({ message });
    expect(await faultOf('', { id: 'r-5', type: 'other' })).toMatchObject({
      message: 'event 1: no path is set for events of type other',
    });
    const reused = { id: 'r-4', type, data: { ...LIST, workingOrders: [] } };
    expect(await faultOf('', reused)).toMatchObject({
      code: 'id-reused',
      message: expect.stringMatching(/^event 1: another body/) as string,
    });
    // no event of that batch was written: its id is free
    const again = { ...EVENT, ...reused };
    expect((await ingest.post('/events', [again, again], batched)).status).toBe(202);
    // nor of one with an id that was written before
    const mixed = ['r-6', 'r-4'].map((id) => ({ ...EVENT, id, type, data: LIST }));
    expect(await (await ingest.post('/events', mixed, batched)).json()).toMatchObject({
      code: 'id-reused',
      message: expect.stringMatching(/^event 1: another body was sent/) as string,
    });
    const free = { ...EVENT, id: 'r-6', type, data: reused.data };
    expect((await ingest.post('/events', [free], batched)).status).toBe(202);
  });

  it('previews how the bridge would read a document, and writes nothing', async () => {
    // counts records, as a transaction marker may move the end later
    const counts = () => Promise.all(TOPICS.map((topic) => kafka.topics.count(topic)));
    const before = await counts();
    const order = await ingest.post('/orders?dry-run', ORDER);
    expect([order.status, await order.json()]).toMatchObject([
      200,
      {
        topic: `${prefix}${TOPICS[0]}`,
        key: '4711',
        reading: {
          machineIds: ['M-1'],
          lists: [{ machineId: 'M-1', workingOrders: ['4711'] }],
        },
      },
    ]);
    const list = await ingest.post('/lists?dry_run=false&dryRun=true', LIST);
    expect(await list.json()).toMatchObject({ reading: { assignments: [LIST], faults: [] } });
    const reason = await ingest.post('/reasons?dry-run', REASON);
    expect(await reason.json()).toMatchObject({ key: 'M-2', reading: REASON });
    expect((await ingest.post('/orders?dry-run', '{')).status).toBe(400);
    expect(await counts()).toEqual(before);
  });

  it.each(['dry-run[]=1', 'dry-run=false&dry-run=false', '?dry-run', 'dry-runs'])(
    'refuses %j, which may have been meant as a dry run',
    async (query) => {
      const answer = await ingest.post(`/lists?${query}`, LIST);
      const refusal = { code: 'invalid-request' };
      expect([answer.status, await answer.json()]).toMatchObject([400, refusal]);
    },
  );

  it('ignores a parameter of another name', async () => {
    expect((await ingest.post('/lists?foundry=Graz', LIST)).status).toBe(202);
  });

  it.each([
    ['idempotency-key', {}],
    ['webhook-id', {}],
    ['ce-id', { 'ce-specversion': '1.0', 'ce-source': '/erp', 'ce-type': TOPICS[1]! }],
  ])('refuses a request with two headers %s, which would be neither id', async (name, others) => {
    const headers = { 'content-type': 'application/json', ...others, [name]: ['key', 'key'] };
    const posted = httpRequest(`${ingest.url}/lists`, { method: 'POST', headers });
    posted.end(JSON.stringify(LIST));
    const [answer] = (await once(posted, 'response')) as [IncomingMessage];
    expect([answer.statusCode, await readJson(answer)]).toMatchObject([
      400,
      { code: 'invalid-message' },
    ]);
  });

  it('checks tokens, signatures, paths and rates, and reads a changed file', async () => {
    const key = Buffer.from('a key of thirty-two bytes, or so');
    const tokenSha256 = createHash('sha256').update('the-token-of-the-mes').digest('hex');
    const mes = { tokenSha256, paths: ['/reasons'], maxBodyBytes: 200, requestsPerSecond: 2 };
    const hook = { hmacSecret: `whsec_${key.toString('base64')}`, paths: ['/lists', '/metrics'] };
    const prometheus = { token: 'the-token-of-prometheus', paths: ['/metrics'] };
    writeFileSync(sendersFile, JSON.stringify({ senders: { mes, hook, prometheus } }));
    const { url } = await start('e', { INGEST_SENDERS_FILE: sendersFile });
    const bearer = { authorization: 'Bearer the-token-of-the-mes' };
    const statusOf = async (path: string, body: unknown, headers = {}) =>
      (await post(url, path, body, headers)).status;
    expect(await statusOf('/reasons', REASON)).toBe(401);
    expect(await statusOf('/reasons', REASON, { authorization: 'Bearer no-token-of-it' })).toBe(
      401,
    );
    expect(await statusOf('/lists', LIST, bearer)).toBe(403);
    expect(await statusOf('/reasons', { ...REASON, more: 'x'.repeat(200) }, bearer)).toBe(413);
    expect(await statusOf('/reasons', REASON, bearer)).toBe(202);
    const many = await Promise.all(
      Array.from({ length: 20 }, () => post(url, '/reasons', REASON, bearer)),
    );
    const slowed = many.filter(({ status }) => status === 429);
    expect(slowed.length).toBeGreaterThanOrEqual(3);
    expect(slowed.map((it) => it.headers.get('retry-after'))).toContain('1');

    const signed = (id: string, seconds: number, body: string, by = key) => {
      const timestamp = String(Math.floor(seconds));
      const mac = createHmac('sha256', by).update(`${id}.${timestamp}.${body}`).digest('base64');
      return {
        ...{ 'webhook-id': id, 'webhook-timestamp': timestamp },
        'webhook-signature': `v1,${mac}`,
      };
    };
    const body = JSON.stringify(LIST);
    const now = Date.now() / 1000;
    expect(await statusOf('/lists', body, signed('w-1', now, body))).toBe(202);
    expect(await statusOf('/lists', body, signed('w-1', now, body))).toBe(200);
    expect(await statusOf('/lists', body, signed('w-2', now - 400, body))).toBe(401);
    expect(await statusOf('/lists', `${body} `, signed('w-3', now, body))).toBe(401);
    expect(await statusOf('/lists', body, signed('w-4', now, body, Buffer.from('other')))).toBe(
      401,
    );
    expect(await statusOf('/lists', body, { ...signed('w-5', now, body), 'webhook-id': 'w' })).toBe(
      401,
    );
    // a request for the metrics has no body to sign
    for (const headers of [{ 'webhook-signature': 'v1,' }, signed('w-6', now, '')]) {
      expect((await fetch(`${url}/metrics`, { headers })).status).toBe(401);
    }
    // a signed request is accepted once, whatever its unsigned headers contain
    const other = { ...signed('w-1', now, body), 'idempotency-key': 'other' };
    expect(await statusOf('/lists', body, other)).toBe(200);
    const event = { 'ce-specversion': '1.0', 'ce-source': '/erp', 'ce-type': TOPICS[1]! };
    const binary = (id: string) => ({ ...signed('w-1', now, body), ...event, 'ce-id': id });
    expect(await statusOf('/lists', body, binary('other'))).toBe(200);

    const scrape = { headers: { authorization: `Bearer ${prometheus.token}` } };
    const metrics = await (await fetch(`${url}/metrics`, scrape)).text();
    for (const [sender, path, status, count] of [
      ['mes', 'lists', 403, 1],
      ['mes', 'reasons', 413, 1],
      ['mes', 'reasons', 429, slowed.length],
      ['unknown', 'reasons', 401, 2],
      ['unknown', 'lists', 401, 4],
    ] as const) {
      const labels = `sender="${sender}",path="/${path}",status="${status}"`;
      expect(metrics).toContain(`machine_ingest_requests_total{${labels}} ${count}\n`);
    }

    const renewed = { ...hook, token: 'the-new-token-of-hook', paths: ['/lists'] };
    writeFileSync(sendersFile, JSON.stringify({ senders: { hook: renewed } }));
    const newToken = { authorization: `Bearer ${renewed.token}` };
    await eventually(
      'the new token is known',
      async () => (await statusOf('/lists', LIST, newToken)) === 202,
    );
    // an address must wait after some refusals
    expect([401, 429]).toContain(await statusOf('/reasons', REASON, bearer));
    writeFileSync(sendersFile, '{"senders": ');
    expect(await statusOf('/lists', LIST, newToken)).toBe(202);
    expect((await fetch(`${url}/metrics`, { headers: newToken })).status).toBe(403);
  });

  it('accepts nothing from the page of another site when it has no senders file', async () => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[]) {
      const answer = await ingest.post('/lists', LIST, headers);
      expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'not-local' }]);
    }
    // typed into the address bar
    const typed = await fetch(`${ingest.url}/metrics`, { headers: { 'sec-fetch-site': 'none' } });
    expect(typed.status).toBe(200);
  });

  it('counts its requests and records', async () => {
    for (let time = 0; time < 2; time += 1) await take(ingest, 'counted');
    const metrics = await (await fetch(`${ingest.url}/metrics`)).text();
    expect(metrics).toMatch(
      /machine_ingest_requests_total\{sender="local",path="\/lists",status="202"\} [1-9]/,
    );
    expect(metrics).toMatch(/machine_ingest_records_repeated_total [1-9]/);
    expect(metrics).toContain('machine_ingest_kafka_up 1');
  });

  it('names the clocks while its own is ahead of the brokers, and opens its writer again ever less often', async () => {
    for (const topic of TOPICS)
      await kafka.topics.configure(topic, { 'message.timestamp.after.max.ms': '3600000' });
    const ahead = await start('ahead');
    const logs = captureLogs();
    const realNow = Date.now;
    jest.spyOn(Date, 'now').mockImplementation(() => realNow() + 2 * 3_600_000);
    const requests = [{ 'idempotency-key': 'ahead' }, {}];
    const answers = await Promise.all(
      requests.map((headers) => ahead.post('/lists', LIST, headers)),
    ).finally(() => {
      jest.restoreAllMocks();
      logs.release();
    });
    for (const answer of answers) {
      const { message } = (await answer.json()) as { message: string };
      expect([answer.status, message]).toEqual([503, expect.stringContaining('clock')]);
    }
    const opened = logs.lines().filter((line) => JSON.stringify(line).includes('opened again'));
    expect(opened.length).toBeLessThan(60);
    expect((await take(ahead, 'after')).status).toBe(202);
  });
});
