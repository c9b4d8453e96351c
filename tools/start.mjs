// npm start: runs Kafka, the sandbox, the bridge, the terminal, ingest and demo traffic until Ctrl-C.
import './setup/require-node.mjs';
import { existsSync } from 'node:fs';
import { findKafka } from './kafka/find-kafka.mjs';
import { nextFreePort } from './process/ports.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { say, secondsSince, showUsage, step } from './setup/command.mjs';
import { choosePort, portsOfApps, urlsOf } from './start/app-ports.mjs';
import { startApp, untilHealthy } from './start/app-process.mjs';
import { appSettings } from './start/app-settings.mjs';
import { demoSenders } from './start/demo-senders.mjs';
import { demoClock, noteReadings, originToGoOn } from './start/demo-clock.mjs';
import { whereToLook } from './start/where-to-look.mjs';

const DEMO = new URL('./demo/run-demo.mjs', import.meta.url);

const USAGE = `npm start
Runs Kafka, a sandbox of the service, the bridge, the terminal, ingest and demo traffic, until Ctrl-C. It takes no
arguments; of the environment it takes, beside the settings in docs/:
  KAFKA_BROKERS                         a Kafka of your own, in place of one by Docker or Java
  SANDBOX_HTTP_PORT, BRIDGE_HTTP_PORT, TERMINAL_HTTP_PORT, INGEST_HTTP_PORT
                                        ports; without them 3100, 3000, 3200, 3300, or the next free ones
  SANDBOX_MACHINES, SANDBOX_SEED        the plant: 12 machines without them
  CLOCK_SPEED                           60: a second is a minute of the plant's time`;

showUsage(USAGE);
const startMs = performance.now();
const shutdown = createShutdown({
  interruptedCode: 0,
  say,
  beforeExit: () => say('stopped: nothing of it is left running'),
});

await runCommand(
  () => start().catch(shutdown.unlessStopping),
  () => shutdown.end(1),
);

async function start() {
  await setUp();
  const ports = await portsOfApps(choosePort);
  const callbackPort = await nextFreePort(3400);
  const kafka = await findKafka('start');
  shutdown.add('Kafka', kafka.stop, kafka.kill);
  void kafka.ended().then(() => shutdown.end(1, 'Kafka has ended: stopping'));
  const env = appSettings({
    brokers: kafka.brokers,
    ports,
    sendersFile: await demoSenders(callbackPort),
    clockOrigin: originToGoOn(Number(process.env.CLOCK_SPEED ?? 60)),
  });
  const clock = demoClock(env);
  noteReadings(clock);
  const urls = urlsOf(ports);
  const sandbox = await launch('sandbox', env, `${urls.sandboxUrl}/health/live`);
  const sinceMs = Date.now();
  const apps = await Promise.all([
    launch('bridge', env, `${urls.bridgeUrl}/health/ready`),
    launch('terminal', env, `${urls.terminalUrl}/health/ready`),
    launch('ingest', env, `${urls.ingestUrl}/health/ready`),
  ]);
  const seconds = secondsSince(startMs);
  const topicPrefix = (process.env.KAFKA_TOPIC_PREFIX ?? '').trim();
  console.log(whereToLook({ ...urls, seconds, kafka, topicPrefix, apps: [sandbox, ...apps] }));
  const { brokers } = kafka;
  const { signal } = shutdown;
  await runDemo({ ...urls, callbackPort, brokers, topicPrefix, clock, sinceMs, signal });
}

async function launch(name, env, healthUrl) {
  if (shutdown.signal.aborted) return new Promise(() => undefined);
  const app = startApp(name, env);
  const called = name === 'ingest' ? name : `the ${name}`;
  shutdown.add(called, app.stop, app.kill);
  await step(`starting ${called}`, () => untilHealthy(app, healthUrl));
  void app.ended.then((why) => shutdown.end(1, why));
  return app;
}

/** Runs the demo traffic. If it fails, the apps run on. */
async function runDemo(surroundings) {
  if (!existsSync(DEMO)) return;
  try {
    const demo = await import(DEMO.href);
    await demo.runDemo(surroundings);
  } catch (error) {
    if (!surroundings.signal.aborted) say(`The demo traffic ended: ${error.stack}`);
  }
}
