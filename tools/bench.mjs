// npm run bench: how fast the command flows are against a service that takes 20 ms a call, and what they cost.
import './setup/require-node.mjs';
import { commandFlows } from './bench/command-flows.mjs';
import { findKafka } from './kafka/find-kafka.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { say } from './setup/steps.mjs';

const shutdown = createShutdown({ interruptedCode: 130, say });

await runCommand(bench, () => shutdown.end(1));

async function bench() {
  await setUp();
  const kafka = await findKafka('test');
  shutdown.add('Kafka', kafka.stop, kafka.kill);
  console.table(await commandFlows(kafka.brokers, shutdown));
  await shutdown.end(0);
}
