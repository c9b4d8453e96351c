import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { nextFreePort } from '../process/ports.mjs';
import { startApp, untilHealthy } from '../start/app-process.mjs';
import { countRecords, createTopic, produce } from './topic-traffic.mjs';

const MACHINES = 1000;
const MESSAGES = 20_000;
const SERVICE_LATENCY_MS = 20;
const PARTITIONS = 6;

const FLOWS = [
  {
    flow: 'work order lists',
    topic: 'erp.work-order-lists.v1',
    message: (machineId, number) => ({ machineId, workingOrders: [String(number)] }),
  },
  {
    flow: 'downtime reasons',
    topic: 'mes.downtime-reasons.v1',
    message: (machineId, number) => ({
      machineId,
      reasonId: '11',
      startTime: 1_760_000_000 + number,
      endTime: 1_760_000_600 + number,
    }),
  },
];

/** Messages a second, CPU and memory of each command flow: input waits in Kafka, then the bridge is let at it. */
export async function commandFlows(brokers, shutdown) {
  const rows = [];
  for (const flow of FLOWS) rows.push(await measure(flow, brokers, shutdown));
  return rows;
}

async function measure({ flow, topic, message }, brokers, shutdown) {
  const prefix = `bench-${randomUUID().slice(0, 8)}.`;
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const sandbox = await startSandbox(shutdown);
  const machineIds = await usableMachines(sandbox.url);
  const [input, answers] = [`${prefix}${topic}`, `${prefix}machine.command-outcomes.v1`];
  for (const name of [input, answers]) await createTopic(kafka, name, PARTITIONS);
  await produce(kafka, input, MESSAGES, (number) => {
    const machineId = machineIds[number % machineIds.length];
    return { key: machineId, value: JSON.stringify(message(machineId, number)) };
  });
  const outcomes = await countRecords(kafka, answers, MESSAGES);
  const bridge = await startBridge({ brokers, prefix, sandboxUrl: sandbox.url }, shutdown);
  await outcomes.all;
  const { cpuSeconds, rssMb } = await readCost(bridge.url);
  await Promise.all([outcomes.close(), bridge.app.stop(), sandbox.app.stop()]);
  return {
    flow,
    messages: MESSAGES,
    'messages/s': Math.round(MESSAGES / outcomes.seconds()),
    'CPU ms/message': Number(((cpuSeconds * 1000) / MESSAGES).toFixed(3)),
    'RSS MB': rssMb,
  };
}

async function startSandbox(shutdown) {
  const port = await nextFreePort(23_100);
  const url = `http://127.0.0.1:${port}`;
  const env = {
    SANDBOX_HTTP_PORT: String(port),
    SANDBOX_MACHINES: String(MACHINES),
    LOG_LEVEL: 'warn',
  };
  const app = startApp('sandbox', { ...process.env, ...env });
  shutdown.add('The sandbox', app.stop, app.kill);
  await untilHealthy(app, `${url}/health/live`);
  await fetch(`${url}/sandbox/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ operation: '*', latencyMs: SERVICE_LATENCY_MS }),
  });
  return { app, url };
}

async function startBridge({ brokers, prefix, sandboxUrl }, shutdown) {
  const port = await nextFreePort(23_000);
  const app = startApp('bridge', {
    ...process.env,
    KAFKA_BROKERS: brokers,
    KAFKA_TOPIC_PREFIX: prefix,
    KAFKA_GROUP_ID: `${prefix}bridge`,
    MACHINE_CLOUD_BASE_URL: sandboxUrl,
    MACHINE_CLOUD_TOKEN: 'sandbox-token',
    BRIDGE_FLOWS: 'work-orders,downtime-reasons',
    BRIDGE_HTTP_PORT: String(port),
    LOG_LEVEL: 'warn',
  });
  shutdown.add('The bridge', app.stop, app.kill);
  return { app, url: `http://127.0.0.1:${port}` };
}

/** Machines with a reason list: a few of the sandbox's plant have none. */
async function usableMachines(url) {
  const machines = await (await fetch(`${url}/sandbox/machines`)).json();
  return machines
    .filter(({ reasons }) => reasons.some(({ code }) => code === '11'))
    .map(({ machineId }) => machineId);
}

async function readCost(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const metric = (name) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  return {
    cpuSeconds: metric('process_cpu_seconds_total'),
    rssMb: Math.round(metric('process_resident_memory_bytes') / 1_048_576),
  };
}
