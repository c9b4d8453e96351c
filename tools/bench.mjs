// npm run bench: how fast commands and machine states get through, what that costs, and what slows it down, compared
// with the targets.
import './setup/require-node.mjs';
import { writeFile } from 'node:fs/promises';
import { Kafka, logLevel } from 'kafkajs';
import { helpText, readOptions } from './bench/options.mjs';
import { circumstances, resultText, writeJson } from './bench/report.mjs';
import { chartOf } from './bench/rivals/chart.mjs';
import { runScenarios } from './bench/run-scenarios.mjs';
import { formats } from './bench/scenarios/formats.mjs';
import { growth } from './bench/scenarios/growth.mjs';
import { handOver } from './bench/scenarios/hand-over.mjs';
import { ingest } from './bench/scenarios/ingest.mjs';
import { isolation } from './bench/scenarios/isolation.mjs';
import { latency } from './bench/scenarios/latency.mjs';
import { lists } from './bench/scenarios/lists.mjs';
import { memory } from './bench/scenarios/memory.mjs';
import { orders } from './bench/scenarios/orders.mjs';
import { reasons } from './bench/scenarios/reasons.mjs';
import { rivals } from './bench/scenarios/rivals.mjs';
import { soak } from './bench/scenarios/soak.mjs';
import { start } from './bench/scenarios/start.mjs';
import { manyStates, states } from './bench/scenarios/states.mjs';
import { terminal } from './bench/scenarios/terminal.mjs';
import { traces } from './bench/scenarios/traces.mjs';
import { findKafka } from './kafka/find-kafka.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { say, secondsSince } from './setup/command.mjs';

const SCENARIOS = [
  reasons,
  lists,
  orders,
  growth,
  isolation,
  latency,
  memory,
  states,
  manyStates,
  handOver,
  terminal,
  traces,
  ingest,
  formats,
  start,
  soak,
  rivals,
];

const startMs = performance.now();
const shutdown = createShutdown({ interruptedCode: 130, say });

await runCommand(
  () => bench().catch(shutdown.unlessStopping),
  () => shutdown.end(1),
);

async function bench() {
  const options = readOptions(process.argv.slice(2), SCENARIOS);
  if (options.help) {
    console.log(helpText(SCENARIOS));
    return shutdown.end(0);
  }
  await setUp();
  const found = await findKafka('test');
  shutdown.add('Kafka', found.stop, found.kill);
  const results = await measure(found, options);
  const context = circumstances(found, options);
  console.log(`\n${resultText(context, results)}`);
  if (options.json) await writeJson(options.json, context, results);
  const compared = results.find(({ name }) => name === rivals.name);
  if (options.chart && compared) await writeFile(options.chart, chartOf(compared.rows, context));
  say(`\nmeasured in ${secondsSince(startMs)}`);
  await shutdown.end(results.some(({ problem }) => problem !== null) ? 1 : 0);
}

async function measure(found, options) {
  const { brokers } = found;
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const results = await runScenarios(
    { brokers, kafka, admin, brokerPid: found.pid?.(), shutdown },
    options,
  );
  await admin.disconnect();
  return results;
}
