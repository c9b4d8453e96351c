import { rename, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { realNowMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { answering, ErpServer, orderEntity } from '../support/erp-server.js';
import { eventually } from '../support/eventually.js';
import { untilReady } from '../support/health.js';
import { type Plant, startPlant } from '../support/plant.js';
import { runCommand } from '../support/run-command.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrders}.dlq`;

describe('a message with only the id of its order', () => {
  let erp: ErpServer;
  let tokenFile: string;
  let plant: Plant;
  let answers: TopicReader;
  let sent = 0;

  beforeAll(async () => {
    erp = await ErpServer.start();
    const passwordFile = temporaryFile('password', 'password-of-the-erp\n');
    tokenFile = temporaryFile('token', 'token-of-file-1\n');
    const rule = {
      ...{ name: 's4', when: { ce_type: 'order.changed' }, orderId: 'ProductionOrder' },
      ...{ url: `${erp.url}/orders/{orderId}`, version: 'Version', goneAfterSeconds: 1 },
      // for a GET that a test holds back
      timeoutMs: 60_000,
      auth: { kind: 'basic', username: 'bridge', password: { file: passwordFile } },
    };
    const client = { clientId: 'bridge', clientSecret: { file: passwordFile } };
    const byOAuth = {
      ...{ ...rule, name: 'oauth', when: { ce_type: 'order.by-oauth' } },
      auth: { kind: 'oauth', tokenUrl: `${erp.url}/token`, ...client, scope: 'orders' },
    };
    const byFile = {
      ...{ ...rule, name: 'file', when: { ce_type: 'order.by-file' } },
      auth: { kind: 'bearer', token: { file: tokenFile } },
    };
    const byCompany = {
      ...{ ...rule, name: 'company', when: { ce_type: 'order.of-company' } },
      ...{ values: { company: 'Company' }, answerOrderId: '{company}-{orderId}' },
      url: `${erp.url}/orders/{company}-{orderId}`,
    };
    const patient = {
      ...{ ...rule, name: 'patient', when: { ce_type: 'order.patient' } },
      goneAfterSeconds: 6,
    };
    const file = temporaryFile('rules.json', [rule, byOAuth, byFile, byCompany, patient]);
    plant = await startPlant({
      env: {
        ...{ ERP_ENRICHMENT_FILE: file, OUTCOME_DEFERRED_AFTER_SECONDS: '1' },
        BRIDGE_FLOWS: 'work-orders',
      },
    });
    answers = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
  });

  afterAll(async () => {
    await plant.close();
    await erp.close();
  });

  beforeEach(() => {
    erp.faults.clear();
  });

  /** Returns the id of the message. */
  const sendEvent = async (
    orderId: string,
    more: object = {},
    headers: Record<string, string> = {},
  ): Promise<string> => {
    sent += 1;
    const id = `event-${sent}`;
    const event = { ProductionOrder: orderId, ...more };
    await plant.kafka.sendJson(TOPICS.workOrders, orderId, event, {
      ...{ ce_specversion: '1.0', ce_id: id, ce_source: '/s4', ce_type: 'order.changed' },
      ...{ 'content-type': 'application/json', ...headers },
    });
    return id;
  };
  const outcomeOf = (id: string, kind: string): Promise<ReadRecord> =>
    answers.outcomeOf(id, `work-order-list.${kind}.v1`);
  const deadLetterOf = (id: string): Promise<ReadRecord> =>
    answers.find(
      `the dead letter of ${id}`,
      (record) => record.topic === DEAD_LETTERS && header(record, 'ce_id') === id,
    );

  it('is completed by its ERP, and processed as if it contained the order', async () => {
    erp.orders.set('4711', { machineId: 'M-001', changed: '20240318091502' });
    const id = await sendEvent('4711');
    const outcome = await outcomeOf(id, 'applied');
    expect(json(outcome)).toMatchObject({
      ...{ machineId: 'M-001', orderId: '4711', workingOrders: ['4711'] },
    });
    await plant.sandbox.listBecomes('M-001', ['4711']);
    const password = Buffer.from('bridge:password-of-the-erp').toString('base64');
    expect(erp.asked.at(-1)?.authorization).toBe(`Basic ${password}`);
  });

  it('never restores an older state of the order, and a newer event requests it again', async () => {
    erp.orders.set('4712', { machineId: 'M-002', changed: '20240318100000' });
    await outcomeOf(await sendEvent('4712'), 'applied');
    erp.orders.set('4712', { machineId: 'M-003', changed: '20240318090000' });
    await outcomeOf(await sendEvent('4712'), 'superseded');
    erp.orders.set('4712', { machineId: 'M-003', changed: '20240318110000' });
    await outcomeOf(await sendEvent('4712'), 'applied');
    await plant.sandbox.listBecomes('M-003', ['4712']);
    await plant.sandbox.listBecomes('M-002', []);
  });

  it('shares the GET after the current one, and no two GETs for an order overlap', async () => {
    erp.orders.set('4713', { machineId: 'M-004' });
    let release: (() => void) | undefined;
    erp.faults.set('4713', (_, response) => {
      release = () => {
        // the state of the order when the request came
        const entity = orderEntity('4713', { machineId: 'M-004' });
        response.setHeader('content-type', 'application/json').end(JSON.stringify(entity));
      };
    });
    const first = await sendEvent('4713');
    const answer = await eventually('the first GET is under way', () => release);
    erp.faults.clear();
    erp.orders.set('4713', { machineId: 'M-005' });
    const ids = [];
    for (let event = 0; event < 5; event += 1) ids.push(await sendEvent('4713'));
    // all but the newest are superseded, because they share the next GET, which has not begun
    for (const id of ids.slice(0, -1)) await outcomeOf(id, 'superseded');
    expect(erp.askedFor('4713')).toBe(1);
    answer();
    await outcomeOf(first, 'applied');
    await outcomeOf(ids.at(-1) ?? '', 'applied');
    await plant.sandbox.listBecomes('M-005', ['4713']);
    expect(erp.askedFor('4713')).toBe(2);
    expect(erp.mostAtOnce).toBe(1);
  });

  it('needs no GET when its version is known', async () => {
    erp.orders.set('4714', { machineId: 'M-006', changed: '20240318091502' });
    await outcomeOf(await sendEvent('4714', { Version: 'v1' }), 'applied');
    await outcomeOf(await sendEvent('4714', { Version: 'v1' }), 'applied');
    expect(erp.askedFor('4714')).toBe(1);
    await outcomeOf(await sendEvent('4714', { Version: 'v2' }), 'applied');
    expect(erp.askedFor('4714')).toBe(2);
  });

  const hole = gzipSync(Buffer.alloc(20_000_000));
  const inOther = JSON.stringify(orderEntity('1', { machineId: 'M-001' }));
  const gzip = { 'content-encoding': 'gzip' };
  it.each([
    {
      of: '400',
      answer: answering(400),
      code: 'rejected-by-service',
      detail: 'the ERP answered 400',
    },
    {
      of: 'nonsense',
      answer: answering(200, '<no'),
      code: 'invalid-json',
      detail: 'in the answer',
    },
    {
      ...{ of: 'another order', answer: answering(200, inOther), code: 'invalid-message' },
      detail: 'the answer holds order 1, and not',
    },
    {
      ...{ of: 'too much', answer: answering(200, Buffer.alloc(1_100_000, 32)) },
      ...{ code: 'too-large', detail: 'the ERP answered with more than' },
    },
    {
      ...{ of: 'a gzip bomb', answer: answering(200, hole, gzip) },
      ...{ code: 'too-large', detail: 'the ERP answered with more than' },
    },
  ])('is dead-lettered with the reason when the ERP answers $of', async (bad) => {
    const { of, answer, code, detail } = bad;
    const orderId = `bad ${of}`;
    erp.faults.set(orderId, answer);
    const id = await sendEvent(orderId);
    const deadLetter = await deadLetterOf(id);
    expect(header(deadLetter, 'dlq-code')).toBe(code);
    expect(header(deadLetter, 'dlq-detail')).toContain(`enrichment s4: ${detail}`);
    expect(header(deadLetter, 'dlq-http-status')).toBe(of === '400' ? '400' : undefined);
    expect(header(deadLetter, 'dlq-attempts')).toBe('1');
    expect(json(deadLetter)).toEqual({ ProductionOrder: orderId });
    expect(json(await outcomeOf(id, 'rejected'))).toMatchObject({ code, orderId });
  });

  it('is processed once its dead letter is replayed and the ERP answers', async () => {
    erp.orders.set('replayed', { machineId: 'M-001' });
    erp.faults.set('replayed', answering(400));
    const id = await sendEvent('replayed');
    await deadLetterOf(id);
    erp.faults.clear();
    const args = ['dlq', 'replay', TOPICS.workOrders, '--code', 'rejected-by-service', '--yes'];
    const { topicPrefix } = plant.kafka;
    expect(await runCommand(args, { topicPrefix })).toMatchObject({ exitCode: 0 });
    expect(json(await outcomeOf(id, 'applied'))).toMatchObject({ orderId: 'replayed' });
  });

  it('is requested with a token by client credentials, and with a new one after a refusal', async () => {
    let issued = 0;
    const forms: string[] = [];
    erp.faults.set('token', (request, response) => {
      const login = `Basic ${btoa('bridge:password-of-the-erp')}`;
      request.on('data', (form: Buffer) => forms.push(form.toString()));
      request.on('end', () => {
        const isRight = request.headers.authorization === login;
        if (isRight) issued += 1;
        response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ access_token: `token-of-oauth-${issued}` }));
      });
    });
    for (const machineId of ['M-002', 'M-003']) {
      const orderId = `by-oauth-${machineId}`;
      const refused = issued;
      // the ERP accepts the first token for the first order only
      erp.faults.set(orderId, ({ headers }, response) => {
        const isGood = headers.authorization === `Bearer token-of-oauth-${refused + 1}`;
        const entity = JSON.stringify(orderEntity(orderId, { machineId }));
        response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' });
        response.end(isGood ? entity : '{}');
      });
      await outcomeOf(await sendEvent(orderId, {}, { ce_type: 'order.by-oauth' }), 'applied');
    }
    expect(issued).toBe(2);
    expect(new Set(forms)).toEqual(new Set(['grant_type=client_credentials&scope=orders']));
  });

  it('is requested with the current token of its file, in the trace of the message', async () => {
    for (const [index, token] of ['token-of-file-1', 'token-of-file-2'].entries()) {
      const orderId = `by-file-${index}`;
      await writeFile(`${tokenFile}.new`, `${token}\n`);
      await rename(`${tokenFile}.new`, tokenFile);
      erp.faults.set(orderId, (request, response) => {
        const isGood = request.headers.authorization === `Bearer ${token}`;
        const entity = JSON.stringify(orderEntity(orderId, { machineId: 'M-004' }));
        response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' });
        response.end(isGood ? entity : '{}');
      });
      const trace = `0af7651916cd43dd8448eb211c80319${index}`;
      const traceparent = `00-${trace}-b7ad6b7169203331-01`;
      await outcomeOf(
        await sendEvent(orderId, {}, { ce_type: 'order.by-file', traceparent }),
        'applied',
      );
      const last = erp.asked.findLast((each) => each.orderId === orderId);
      expect(last?.headers['traceparent']).toContain(trace);
    }
  });

  it('is dead-lettered when its order id cannot be part of an address', async () => {
    const deadLetter = await deadLetterOf(await sendEvent("1' or '1' eq '1"));
    expect(header(deadLetter, 'dlq-code')).toBe('invalid-message');
    expect(erp.askedFor("1' or '1' eq '1")).toBe(0);
  });

  it.each([
    ['503', answering(503, '', { 'retry-after': '1' })],
    ['a redirect', answering(302, '', { location: 'http://127.0.0.1:1/' })],
    ['a page of a gateway', answering(200, '<html>', { 'content-type': 'text/html' })],
    ['401', answering(401)],
  ])('waits while the ERP answers %s, is deferred, and then continues', async (name, answer) => {
    const orderId = `later ${name}`;
    erp.orders.set(orderId, { machineId: 'M-007' });
    erp.faults.set(orderId, answer);
    const id = await sendEvent(orderId);
    expect(json(await outcomeOf(id, 'deferred'))).toMatchObject({ machineId: null, orderId });
    erp.faults.clear();
    await outcomeOf(id, 'applied');
    expect(
      answers.records.filter(
        (record) => record.topic === DEAD_LETTERS && header(record, 'ce_id') === id,
      ),
    ).toEqual([]);
  });

  it('removes the order from its machine after the ERP has lacked it for a while', async () => {
    erp.orders.set('gone', { machineId: 'M-008' });
    await outcomeOf(await sendEvent('gone'), 'applied');
    await plant.sandbox.listBecomes('M-008', ['gone']);
    erp.orders.delete('gone');
    await outcomeOf(await sendEvent('gone'), 'applied');
    await plant.sandbox.listBecomes('M-008', []);
  });

  it('removes it even if answers keep the leading zeros that the rule drops', async () => {
    const operations = [{ operationId: '0010', machineId: 'M-011' }];
    const order = { orderId: '000815', changedAt: 1_710_753_302, status: 'released', operations };
    erp.faults.set('000815', answering(200, JSON.stringify(order)));
    await outcomeOf(await sendEvent('000815'), 'applied');
    await plant.sandbox.listBecomes('M-011', ['000815']);
    erp.faults.set('000815', answering(410));
    await sendEvent('000815');
    await plant.sandbox.listBecomes('M-011', []);
  });

  it('does not touch an order of another company with the same number', async () => {
    const ofCompany = (Company: string) =>
      sendEvent('7', { Company }, { ce_type: 'order.of-company' });
    erp.orders.set('USMF-7', { machineId: 'M-011' });
    erp.orders.set('DEMF-7', { machineId: 'M-008' });
    for (const id of [await ofCompany('USMF'), await ofCompany('DEMF')]) {
      await outcomeOf(id, 'applied');
    }
    await plant.sandbox.listBecomes('M-011', ['USMF-7']);
    await plant.sandbox.listBecomes('M-008', ['DEMF-7']);
    erp.orders.delete('DEMF-7');
    expect(json(await outcomeOf(await ofCompany('DEMF'), 'applied'))).toMatchObject({
      ...{ machineId: 'M-008', orderId: 'DEMF-7', workingOrders: [] },
    });
    await plant.sandbox.listBecomes('M-011', ['USMF-7']);
  });

  it('reports an order that the ERP does not have yet, and leaves it unknown', async () => {
    const outcome = await outcomeOf(await sendEvent('early'), 'superseded');
    expect(json(outcome)['detail']).toBe(
      'enrichment s4: the ERP does not have order early: it answered 404',
    );
    erp.orders.set('early', { machineId: 'M-009', changed: '20240318091502' });
    await outcomeOf(await sendEvent('early'), 'applied');
    await plant.sandbox.listBecomes('M-009', ['early']);
  });

  it.each([503, 401])('ignores empty answers from before the ERP answered %s', async (status) => {
    const orderId = `empty ${status}`;
    erp.orders.set(orderId, { machineId: 'M-007', changed: '20240318091502' });
    // the bridge requests it again after `goneAfterSeconds`
    const statuses = [204, status, 204];
    erp.faults.set(orderId, (request, response) => {
      answering(statuses.shift() ?? 204, '')(request, response);
      if (statuses.length === 0) erp.faults.clear();
    });
    await outcomeOf(await sendEvent(orderId), 'applied');
    expect(statuses).toEqual([]);
  });

  it('ignores empty answers from before an outage that only another order met', async () => {
    const ask = (orderId: string) => sendEvent(orderId, {}, { ce_type: 'order.patient' });
    const changed = '20240318091502';
    for (const orderId of ['away', 'seen'])
      erp.orders.set(orderId, { machineId: 'M-007', changed });
    let refuse: () => void = () => undefined;
    erp.faults.set('seen', (request, response) => {
      refuse = () => {
        refuse = () => undefined;
        erp.faults.delete('seen');
        answering(401)(request, response);
      };
    });
    const seen = await ask('seen');
    await eventually('it is being asked for', () => erp.askedFor('seen') === 1);
    // The bridge requests it each second. The order is there after more than the six that the rule requires, but within
    // six since the outage.
    let sinceMs: number | undefined;
    erp.faults.set('away', (request, response) => {
      sinceMs ??= realNowMs();
      if (realNowMs() - sinceMs > 3000) response.on('finish', () => refuse());
      if (realNowMs() - sinceMs > 6200) erp.faults.delete('away');
      answering(204, '')(request, response);
    });
    await outcomeOf(await ask('away'), 'applied');
    await outcomeOf(seen, 'applied');
  });

  it('ignores a 404 that answers every order', async () => {
    erp.orders.set('stays', { machineId: 'M-010' });
    await outcomeOf(await sendEvent('stays'), 'applied');
    erp.faults.set('*', answering(404));
    const id = await sendEvent('stays');
    await outcomeOf(id, 'deferred');
    const why = 'the ERP answers 404, and has had no other order since';
    await eventually('the flow says why', async () =>
      (await (await fetch(`${plant.bridgeUrl}/api/flows`)).text()).includes(why),
    );
    erp.faults.clear();
    await outcomeOf(id, 'applied');
    await plant.sandbox.listBecomes('M-010', ['stays']);
  });

  it('ignores a 404 from before the ERP has another order again', async () => {
    for (const orderId of ['other', 'back']) {
      erp.orders.set(orderId, { machineId: 'M-012' });
      await outcomeOf(await sendEvent(orderId), 'applied');
    }
    const from = erp.asked.length;
    erp.faults.set('back', answering(404));
    erp.faults.set('*', (request, response) => {
      // it has restarted before the request for another order
      erp.faults.clear();
      erp.handle(request, response);
    });
    await outcomeOf(await sendEvent('back'), 'applied');
    await plant.sandbox.listBecomes('M-012', ['back', 'other']);
    const asked = erp.asked.slice(from).map(({ orderId }) => orderId);
    expect(asked.at(-1)).toBe('back');
    expect(asked.at(-2)).toBe('other');
  });

  it('is visible in metrics and health while it waits', async () => {
    erp.faults.set('*', answering(500));
    const id = await sendEvent('seen');
    await eventually('health says what it waits for', async () => {
      const ready = await fetch(`${plant.bridgeUrl}/health/ready`);
      return (await ready.text()).includes('enrichment s4: the ERP answered 500');
    });
    const metrics = await (await fetch(`${plant.bridgeUrl}/metrics`)).text();
    expect(metrics).toContain('machine_bridge_enrichment_paused{rule="s4"} 1');
    expect(metrics).toMatch(
      /machine_bridge_enrichment_requests_total\{rule="s4",result="retry"\} [1-9]/,
    );
    erp.orders.set('seen', { machineId: 'M-011' });
    erp.faults.clear();
    await outcomeOf(id, 'applied');
    await untilReady(plant.bridgeUrl);
  });

  it('waits while the flow is paused by hand', async () => {
    const control = (what: string, body: object = {}): Promise<Response> =>
      fetch(`${plant.bridgeUrl}/api/flows/work-orders/${what}`, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json' },
      });
    expect((await control('pause', { reason: 'upgrade', by: 'test' })).ok).toBe(true);
    erp.orders.set('paused', { machineId: 'M-012' });
    const id = await sendEvent('paused');
    await outcomeOf(id, 'deferred');
    expect(erp.askedFor('paused')).toBe(0);
    expect((await control('resume', { by: 'test' })).ok).toBe(true);
    await outcomeOf(id, 'applied');
  });
});
