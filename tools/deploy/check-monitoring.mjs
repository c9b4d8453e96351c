import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnGuarded } from '../process/guarded.mjs';
import { anyFreePort } from '../process/ports.mjs';
import { buildApps } from '../setup/build.mjs';
import { LOCAL, ROOT, runTool, step } from '../setup/command.mjs';
import { goTool } from './go-tools.mjs';
import { sendList, startBridge } from './running-bridge.mjs';

const FOLDER = join(LOCAL, 'deploy/monitoring');
const COLLECTOR = '0.165.0';
const TIMEOUT_MS = 90_000;
const ALERT = 'MachineBridgeFlowPaused';
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';
const LIST = { machineId: 'M-001', workingOrders: ['4711'] };

/** Runs a bridge that sends its traces to an OpenTelemetry Collector, with Prometheus and the rules beside it. */
export async function checkMonitoring(check, shutdown) {
  await buildApps();
  const otelcol = await buildCollector();
  const prometheus = await goTool('prometheus');
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const collector = await startCollector(otelcol, shutdown);
  const bridge = await startBridge(shutdown, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await check('a trace in an OpenTelemetry Collector', () => checkTrace(bridge, collector));
  await check('an alert in Prometheus while the service fails, gone afterwards', async () =>
    checkAlert(bridge, await startPrometheus(prometheus, bridge, shutdown)),
  );
  await bridge.stop();
  await collector.stop();
}

/** Builds a collector with the receiver and exporter of this test, by OpenTelemetry's builder. */
async function buildCollector() {
  const folder = join(LOCAL, `deploy/otelcol-${COLLECTOR}`);
  const program = join(folder, 'otelcol');
  if (existsSync(program)) return program;
  const builder = await goTool('builder');
  const component = (path) => [{ gomod: `go.opentelemetry.io/collector/${path} v${COLLECTOR}` }];
  const manifest = {
    dist: { name: 'otelcol', module: 'machine-bridge.local/otelcol', output_path: folder },
    exporters: component('exporter/debugexporter'),
    receivers: component('receiver/otlpreceiver'),
  };
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'builder.yaml');
  await writeFile(file, JSON.stringify(manifest));
  await step(`building otelcol ${COLLECTOR}`, () => runTool(builder, ['--config', file]));
  return program;
}

async function startCollector(otelcol, shutdown) {
  const endpoint = `127.0.0.1:${await anyFreePort()}`;
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { debug: { verbosity: 'detailed' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
    },
  };
  const file = join(FOLDER, 'collector.yaml');
  await writeFile(file, JSON.stringify(config));
  const collector = startProgram(otelcol, ['--config', file], 'The collector', shutdown);
  await until('the collector is ready', collector, () =>
    collector.output().includes('Everything is ready'),
  );
  return { url: `http://${endpoint}`, ...collector };
}

/**
 * Checks the spans of a message that has a trace: the message's span below the producer's, the request's below the
 * message's.
 */
async function checkTrace({ brokers }, collector) {
  await sendList(brokers, LIST, { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` });
  let spans = [];
  await until('the spans of a message are in the collector', collector, () => {
    spans = collector
      .output()
      .split(/^Span #/m)
      .map((text) => ({
        traceId: /Trace ID +: (\w+)/.exec(text)?.[1],
        parentId: /Parent ID +: (\w+)/.exec(text)?.[1],
        id: / ID +: (\w{16})$/m.exec(text.replace(/Parent ID.*$/m, ''))?.[1],
        name: /Name +: (.+)/.exec(text)?.[1],
      }))
      .filter(({ traceId }) => traceId === TRACE_ID);
    const message = spans.find(({ name }) => name === 'process erp.work-order-lists.v1');
    const request = spans.find(({ name }) => name === 'PUT /api/v1/workOrderList');
    return message?.parentId === PARENT_ID && request?.parentId === message.id;
  });
  return { figure: `${spans.length} spans` };
}

/** Starts Prometheus with the rules of deploy/prometheus, evaluated every second, with seconds instead of minutes. */
async function startPrometheus(prometheus, { bridgeUrl }, shutdown) {
  const read = (name) => readFile(join(ROOT, 'deploy/prometheus', name), 'utf8');
  const rules = (await read('rules.yaml')).replaceAll(/for: \d+[mh]$/gm, 'for: 3s');
  await writeFile(join(FOLDER, 'rules.yaml'), rules);
  const config = (await read('prometheus.yaml'))
    .replaceAll(/_interval: 15s/g, '_interval: 1s')
    .replace('127.0.0.1:3000', new URL(bridgeUrl).host);
  const file = join(FOLDER, 'prometheus.yaml');
  await writeFile(file, config);
  const address = `127.0.0.1:${await anyFreePort()}`;
  const data = `--storage.tsdb.path=${join(FOLDER, 'data')}`;
  const args = [`--config.file=${file}`, `--web.listen-address=${address}`, data];
  const program = startProgram(prometheus, args, 'Prometheus', shutdown);
  const url = `http://${address}`;
  await until('Prometheus is ready', program, async () => (await fetch(`${url}/-/ready`)).ok);
  return { url, ...program };
}

async function checkAlert({ brokers, sandboxUrl }, prometheus) {
  const get = async (path) => (await (await fetch(`${prometheus.url}/api/v1/${path}`)).json()).data;
  const firing = async () =>
    (await get('alerts')).alerts.filter(
      ({ labels, state }) => labels.alertname === ALERT && state === 'firing',
    );
  await until('Prometheus scrapes the bridge', prometheus, async () =>
    (await get('targets')).activeTargets.some(
      ({ labels, health }) => labels.job === 'machine-bridge' && health === 'up',
    ),
  );
  if ((await firing()).length > 0) throw new Error(`${ALERT} fires before the service fails`);
  await fetch(`${sandboxUrl}/sandbox/faults`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ status: 503 }]),
  });
  await sendList(brokers, LIST);
  await until(`${ALERT} fires`, prometheus, async () => (await firing()).length > 0);
  const { groups } = await get('rules');
  const broken = groups.flatMap(({ rules }) => rules).filter(({ health }) => health !== 'ok');
  if (broken.length > 0) throw new Error(`Prometheus cannot evaluate ${broken[0].name}`);
  await fetch(`${sandboxUrl}/sandbox/faults`, { method: 'DELETE' });
  await until(`${ALERT} ends`, prometheus, async () => (await firing()).length === 0);
  await prometheus.stop();
  return { figure: `${groups.flatMap(({ rules }) => rules).length} rules evaluated` };
}

function startProgram(command, args, name, shutdown) {
  const program = spawnGuarded(command, args, { output: 'pipe', cwd: FOLDER });
  shutdown.add(name, program.stop, program.kill);
  let output = '';
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  return { exited: program.exited, output: () => output, stop: program.stop };
}

async function until(what, { exited, output }, isMet) {
  const deadline = Date.now() + TIMEOUT_MS;
  // the address may not answer at once
  while (!(await Promise.resolve(isMet()).catch(() => false))) {
    const ended = await Promise.race([exited, delay(200)]);
    if (ended || Date.now() > deadline) {
      throw new Error(`${what}: not after ${TIMEOUT_MS / 1000} s\n${output().slice(-3000)}`);
    }
  }
}
