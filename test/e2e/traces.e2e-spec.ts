import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.js';
import { runCommand } from '../support/run-command.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { header, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const CONSUMER = 5;
const CLIENT = 3;
const ERROR = 2;
const LISTS_DLQ = `${TOPICS.workOrderLists}.dlq`;
const ORDERS_DLQ = `${TOPICS.workOrders}.dlq`;

/** The ids of a trace that a producer began. */
function producerTrace(number: number, flags = '01') {
  const traceId = String(number).padStart(32, '4bf92f3577b34da6a3ce929d0e0e4736');
  const spanId = '00f067aa0ba902b7';
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

const traceparentOf = ({ traceId, spanId }: ReceivedSpan, flags = '01'): string =>
  `00-${traceId}-${spanId}-${flags}`;

/** The OpenTelemetry packages that a bridge with these settings loads. */
async function loadedPackages(env: Environment): Promise<string[]> {
  const program = `
    import { createRequire } from 'node:module';
    const { createBridge } = await import('./dist/apps/bridge/src/index.js');
    const { loadBridgeSettings, readEnvironment } = await import('./dist/libs/config/src/index.js');
    await createBridge(loadBridgeSettings(readEnvironment()));
    const loaded = Object.keys(createRequire(import.meta.url).cache).flatMap(
      (path) => /node_modules.(@opentelemetry.[^/]+)/.exec(path)?.[1] ?? []);
    console.log(JSON.stringify([...new Set(loaded)].sort()));
    process.exit();`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', program],
    {
      env: {
        KAFKA_BROKERS: '127.0.0.1:1',
        MACHINE_CLOUD_BASE_URL: 'http://127.0.0.1:1',
        MACHINE_CLOUD_TOKEN: 'a-token',
        LOG_LEVEL: 'silent',
        ...env,
      },
    },
  );
  return JSON.parse(stdout) as string[];
}

describe('OpenTelemetry', () => {
  it('is loaded only if a collector is set', async () => {
    // prom-client loads the API, which does nothing by itself
    expect(await loadedPackages({})).toEqual(['@opentelemetry/api']);
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
    expect(await loadedPackages({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toEqual([
      '@opentelemetry/api',
    ]);
    expect(await loadedPackages(endpoint)).toContain('@opentelemetry/sdk-trace');
  });
});

describe('traces', () => {
  let sandbox: RunningSandbox;
  let receiver: OtlpReceiver;
  let kafka: TestKafka;
  let bridge: AppProcess;
  let outcomes: TopicReader;
  let deadLetters: TopicReader;

  /** Starts topics, a receiver and a bridge for each group of tests, because the settings differ. */
  const start = async (env: (receiver: OtlpReceiver) => Environment): Promise<void> => {
    receiver = new OtlpReceiver();
    await receiver.start();
    const topicPrefix = uniqueTopicPrefix();
    kafka = new TestKafka(testBrokers(), topicPrefix);
    bridge = new AppProcess('bridge', {
      ...bridgeEnvironment({ topicPrefix, partitions: 1, sandboxUrl: sandbox.control.url }),
      WORK_ORDER_LIST_LINGER_MS: '300',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      ...env(receiver),
    });
    await bridge.ready();
    outcomes = await kafka.read(TOPICS.commandOutcomes);
    deadLetters = await kafka.read(LISTS_DLQ, ORDERS_DLQ);
  };

  const stop = async (): Promise<void> => {
    await bridge.close();
    await receiver.close();
    await kafka.close();
  };

  beforeAll(async () => {
    sandbox = await startSandbox({ SANDBOX_MACHINES: '12' });
  });
  afterAll(() => sandbox.close());

  const sendList = (machineId: string, order: string, headers: Record<string, string> = {}) =>
    kafka.sendList(machineId, [order], { 'message-id': order, ...headers });

  const callWith = async (order: string): Promise<LoggedCall> =>
    eventually(`the call with ${order}`, async () =>
      (await sandbox.control.calls('setWorkOrderList')).find(({ body }) =>
        JSON.stringify(body).includes(`"${order}"`),
      ),
    );

  const spanWith = (id: string | undefined): Promise<ReceivedSpan> =>
    receiver.find(`the span ${id}`, ({ spanId }) => spanId === id);

  /** The span that a record came from. A message that is delivered again has a span for each delivery. */
  const spanOf = (record: ReadRecord, name = 'traceparent'): Promise<ReceivedSpan> =>
    spanWith(header(record, name)?.split('-')[2]);

  /** Trace contexts of all calls with an order: a message that is delivered again is sent again. */
  const contextsOf = async (order: string): Promise<(string | null)[]> =>
    (await sandbox.control.calls('setWorkOrderList'))
      .filter(({ body }) => JSON.stringify(body).includes(`"${order}"`))
      .map(({ traceparent }) => traceparent);

  const spansExported = async (result: string): Promise<number> => {
    const text = await (await fetch(`${await bridge.url()}/metrics`)).text();
    const pattern = new RegExp(`machine_bridge_trace_spans_total\\{result="${result}"\\} (\\d+)`);
    return Number(pattern.exec(text)?.[1] ?? NaN);
  };

  describe('that are all sampled', () => {
    beforeAll(() =>
      start(({ url }) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=plant%201,authorization=Bearer%20secret-of-otlp',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_SERVICE_NAME: 'bridge-under-test',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OTEL_TRACES_EXPORTER: 'otlp',
      })),
    );
    afterAll(stop);

    it('continue from the producer through message and call to the outcome', async () => {
      const { traceId, spanId, traceparent } = producerTrace(1);
      await sendList('M-001', 'traced-1', { traceparent, tracestate: 'erp=1,mes=2' });
      const outcome = await outcomes.outcomeOf('traced-1');
      const message = await spanOf(outcome);
      expect(message).toMatchObject({
        ...{ traceId, kind: CONSUMER },
        name: `process ${kafka.topicPrefix}${TOPICS.workOrderLists}`,
        parentSpanId: spanId,
        traceState: 'erp=1,mes=2',
        attributes: {
          'messaging.system': 'kafka',
          'messaging.operation.type': 'process',
          'messaging.destination.name': `${kafka.topicPrefix}${TOPICS.workOrderLists}`,
          'messaging.destination.partition.id': '0',
          'messaging.consumer.group.name': `${kafka.topicPrefix}bridge`,
          'messaging.kafka.message.key': 'M-001',
        },
        events: [{ 'machine_bridge.outcome': 'applied', 'machine_bridge.machine_id': 'M-001' }],
        resource: {
          'service.name': 'bridge-under-test',
          'deployment.environment.name': 'test',
        },
      });
      const call = await receiver.find(
        'the span of the call',
        (span) => span.parentSpanId === message.spanId && span.kind === CLIENT,
      );
      expect(call).toMatchObject({
        name: 'PUT /api/v1/workOrderList',
        traceId,
        attributes: {
          'http.request.method': 'PUT',
          'http.response.status_code': 200,
          'url.full': `${sandbox.control.url}/api/v1/workOrderList`,
          'url.template': '/api/v1/workOrderList',
          'server.address': '127.0.0.1',
          'machine_bridge.operation': 'setWorkOrderList',
        },
      });
      expect(await contextsOf('traced-1')).toContain(traceparentOf(call));
      expect(header(outcome, 'traceparent')).toBe(traceparentOf(message));
      expect(header(outcome, 'tracestate')).toBe('erp=1,mes=2');
    });

    it('lead from the producer to a dead letter, and on to its replay', async () => {
      const { traceId, traceparent } = producerTrace(2);
      await sendList('M-404', 'traced-2', { traceparent });
      await sendList('M-405', 'untraced-2');
      const [traced, untraced] = await Promise.all(
        ['M-404', 'M-405'].map((key) =>
          deadLetters.find(`dead letter ${key}`, (record) => record.key?.toString() === key),
        ),
      );
      const message = await spanOf(traced!, 'dlq-traceparent');
      expect(message).toMatchObject({
        ...{ traceId, kind: CONSUMER },
        attributes: { 'error.type': 'unknown-machine' },
        events: [
          { 'machine_bridge.outcome': 'rejected', 'machine_bridge.code': 'unknown-machine' },
        ],
        status: { code: ERROR },
      });
      expect(header(traced!, 'traceparent')).toBe(traceparent);
      expect(header(traced!, 'dlq-traceparent')).toBe(traceparentOf(message));
      expect(header(untraced!, 'traceparent')).toBeUndefined();
      const rejectedIn = header(untraced!, 'dlq-traceparent');
      expect(rejectedIn).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-01$/);

      const inputs = await kafka.read(TOPICS.workOrderLists);
      const { exitCode } = await runCommand(
        ['dlq', 'replay', TOPICS.workOrderLists, '--all', '--yes'],
        { topicPrefix: kafka.topicPrefix },
      );
      expect(exitCode).toBe(0);
      const replayOf = (key: string) =>
        inputs.find(
          `the replay of ${key}`,
          (record) => record.key?.toString() === key && header(record, 'dlq-replay-count') === '1',
        );
      expect(header(await replayOf('M-404'), 'traceparent')).toBe(traceparent);
      expect(header(await replayOf('M-405'), 'traceparent')).toBe(rejectedIn);
      const [, rejectedTrace = '', rejectedSpan = ''] = rejectedIn!.split('-');
      await receiver.find(
        'the replay in the trace of the rejection',
        (span) => span.traceId === rejectedTrace && span.parentSpanId === rejectedSpan,
      );
      await receiver.find(
        'the replay in the trace of the producer',
        (span) => span.traceId === traceId && span.spanId !== message.spanId,
      );
    });

    it('are linked in a call that several messages share', async () => {
      const traces = [3, 4, 5].map((number) => producerTrace(number));
      await kafka.send(
        TOPICS.workOrderLists,
        ...traces.map(({ traceparent }, index) => ({
          key: `M-00${index + 1}`,
          value: JSON.stringify({
            machineId: `M-00${index + 1}`,
            workingOrders: [`shared-${index}`],
          }),
          headers: { traceparent },
        })),
      );
      const { traceparent } = await callWith('shared-0');
      const call = await receiver.find(
        'the span of the shared call',
        (span) => span.kind === CLIENT && traceparentOf(span) === traceparent,
      );
      const { links = [] } = call;
      expect(links).toMatchObject(traces.map(({ traceId }) => ({ traceId })));
      const messages = await Promise.all(links.map(({ spanId }) => spanWith(spanId)));
      const places = messages.map(({ traceId, spanId }) => ({ traceId, spanId }));
      expect(call.parentSpanId).toBe(messages[0]!.spanId);
      expect(links).toMatchObject(places);
      for (const other of messages.slice(1)) {
        expect(other.links).toMatchObject([{ traceId: call.traceId, spanId: call.spanId }]);
      }
    });

    it('follow an order from its document to its machines, its outcome and its dead letter', async () => {
      const { traceId, traceparent } = producerTrace(6);
      const operations = ['M-006', 'M-406'].map((machineId, index) => ({
        operationId: `00${index + 1}0`,
        machineId,
        status: 'released',
      }));
      const order = { orderId: 'traced-6', status: 'released', operations };
      await kafka.sendJson(
        TOPICS.workOrders,
        'traced-6',
        { ...order, changedAt: Math.floor(Date.now() / 1000) },
        { 'message-id': 'order-6', traceparent },
      );
      await sandbox.control.listBecomes('M-006', ['traced-6']);
      const applied = await outcomes.find(
        'the outcome of the order',
        (record) =>
          header(record, 'ce_subject') === 'M-006' &&
          record.value?.toString().includes('order-6') === true,
      );
      const assignment = await spanOf(applied);
      expect(assignment).toMatchObject({
        traceId,
        name: expect.stringContaining('assignment-changes') as string,
      });
      expect(header(applied, 'traceparent')).toBe(traceparentOf(assignment));
      const document = await spanWith(assignment.parentSpanId);
      expect(document.traceId).toBe(traceId);
      expect(document.name.endsWith(TOPICS.workOrders)).toBe(true);
      const call = await receiver.find(
        'the call of the assignment change',
        (span) => span.kind === CLIENT && span.parentSpanId === assignment.spanId,
      );
      expect(await contextsOf('traced-6')).toContain(traceparentOf(call));
      const deadLetter = await deadLetters.find(
        'the dead letter of the document',
        ({ key }) => key?.toString() === 'traced-6',
      );
      expect(header(deadLetter, 'traceparent')).toBe(traceparent);
      expect(header(deadLetter, 'dlq-traceparent')).toContain(traceId);
    });

    it('of polls contain their requests, and continue in the events', async () => {
      const events = await kafka.read(TOPICS.stateChanges);
      const event = await events.find('a state event', () => true);
      const poll = await receiver.find(
        'the poll of the event',
        (span) => traceparentOf(span) === header(event, 'traceparent'),
      );
      expect(poll).toMatchObject({
        name: 'poll machine',
        attributes: { 'machine_bridge.machine_id': header(event, 'ce_subject') },
      });
      expect(poll.attributes['machine_bridge.events']).toBeGreaterThan(0);
      const request = await receiver.find(
        'the request of the poll',
        (span) => span.parentSpanId === poll.spanId && span.name === 'GET /api/v1/machineState',
      );
      const calls = await sandbox.control.calls('getMachineState');
      expect(calls.map(({ traceparent }) => traceparent)).toContain(traceparentOf(request));
    });

    it('are exported with the configured headers, which are not shown, and counted', async () => {
      expect(receiver.requests[0]).toMatchObject({
        'x-tenant': 'plant 1',
        authorization: 'Bearer secret-of-otlp',
        'content-encoding': 'gzip',
      });
      expect(bridge.output).not.toContain('secret-of-otlp');
      await eventually(
        'exported spans are counted',
        async () => (await spansExported('exported')) >= 10,
      );
      expect(await spansExported('dropped')).toBe(0);
      expect(bridge.output).not.toContain('spans not exported');
    });

    it('are exported up to the last span when the bridge stops', async () => {
      const { traceId, traceparent } = producerTrace(9);
      await sandbox.control.addFault({ operation: 'setWorkOrderList', latencyMs: 1000, count: 1 });
      await sendList('M-009', 'last-9', { traceparent });
      await callWith('last-9');
      bridge.kill('SIGTERM');
      expect(await bridge.exitCode()).toBe(0);
      const kinds = receiver.spans
        .filter((span) => span.traceId === traceId)
        .map(({ kind }) => kind);
      expect(kinds.sort()).toEqual([CLIENT, CONSUMER]);
    });
  });

  describe('that are not sampled', () => {
    beforeAll(() =>
      start(({ url }) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0',
      })),
    );
    afterAll(stop);

    it('have no spans, but are passed on if a producer began them', async () => {
      const { traceparent } = producerTrace(10, '00');
      await sendList('M-001', 'unsampled-1', { traceparent });
      expect(header(await outcomes.outcomeOf('unsampled-1'), 'traceparent')).toBe(traceparent);
      expect((await callWith('unsampled-1')).traceparent).toBe(traceparent);
      await sendList('M-002', 'unsampled-2');
      expect(header(await outcomes.outcomeOf('unsampled-2'), 'traceparent')).toBeUndefined();
      expect((await callWith('unsampled-2')).traceparent).toBeNull();
      bridge.kill('SIGTERM');
      expect(await bridge.exitCode()).toBe(0);
      expect(receiver.spans).toEqual([]);
    });
  });

  describe('that are not exported', () => {
    beforeAll(() => start(() => ({})));
    afterAll(stop);

    it('are passed on unchanged', async () => {
      const { traceparent } = producerTrace(11);
      await sendList('M-001', 'passed-1', { traceparent, tracestate: 'erp=1' });
      const applied = await outcomes.outcomeOf('passed-1');
      expect(header(applied, 'traceparent')).toBe(traceparent);
      expect(header(applied, 'tracestate')).toBe('erp=1');
      expect((await callWith('passed-1')).traceparent).toBe(traceparent);
      await sendList('M-404', 'passed-2', { traceparent });
      const deadLetter = await deadLetters.find('the dead letter', () => true);
      expect(header(deadLetter, 'traceparent')).toBe(traceparent);
      expect(header(deadLetter, 'dlq-traceparent')).toBeUndefined();
      await sendList('M-002', 'passed-3');
      expect(header(await outcomes.outcomeOf('passed-3'), 'traceparent')).toBeUndefined();
      expect((await callWith('passed-3')).traceparent).toBeNull();
    });
  });

  describe.each(['hangs', 'refuses'] as const)('whose collector %s', (conduct) => {
    beforeAll(async () => {
      await start(({ url }) => ({
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_BSP_MAX_QUEUE_SIZE: '20',
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
        POLL_INTERVAL_SECONDS: '1',
      }));
      receiver.conduct = conduct;
    });
    afterAll(stop);

    it('lose only spans, and delay a stop by no more than its deadline', async () => {
      for (let list = 1; list <= 5; list += 1) {
        await sendList(`M-00${list}`, `${conduct}-${list}`);
        expect(header(await outcomes.outcomeOf(`${conduct}-${list}`), 'ce_type')).toContain(
          'applied',
        );
      }
      const lost = conduct === 'hangs' ? 'dropped' : 'failed';
      await eventually(`${lost} spans`, async () => (await spansExported(lost)) > 20);
      await bridge.untilOutputMatches(/(spans not exported)/, 'it is logged');
      expect(bridge.output.match(/spans not exported/g)).toHaveLength(1);
      bridge.kill('SIGTERM');
      expect(await bridge.exitCode()).toBe(0);
      await eventually('its last line', () => bridge.output.includes('"msg":"stopped"'));
      expect(bridge.output).not.toContain('cut short');
    });
  });
});
