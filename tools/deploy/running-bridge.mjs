import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { startLocalKafka } from '../kafka/local-kafka.mjs';
import { anyFreePort } from '../process/ports.mjs';
import { LOCAL } from '../setup/command.mjs';
import { portsOfApps, urlsOf } from '../start/app-ports.mjs';
import { startApp, untilHealthy } from '../start/app-process.mjs';
import { appSettings } from '../start/app-settings.mjs';

/**
 * Starts a Kafka, a sandbox and a bridge with the settings of the demo and `env`. They end with `shutdown`, or by
 * `stop`.
 *
 * @returns `{brokers, sandboxUrl, bridgeUrl, stop}`
 */
export async function startBridge(shutdown, env = {}) {
  const dir = join(LOCAL, 'kafka', `test-${process.pid}`);
  const kafka = await startLocalKafka({ dir, removeWhenStopped: true });
  shutdown.add('Kafka', kafka.kill, kafka.kill);
  const ports = await portsOfApps(anyFreePort);
  const clockOrigin = Math.floor(Date.now() / 1000);
  const { brokers } = kafka;
  const settings = appSettings({ brokers, ports, clockOrigin });
  const { sandboxUrl, bridgeUrl } = urlsOf(ports);
  const apps = [];
  for (const [name, url] of [
    ['sandbox', `${sandboxUrl}/health/live`],
    ['bridge', `${bridgeUrl}/health/ready`],
  ]) {
    const app = startApp(name, { ...settings, ...env });
    apps.unshift(app);
    shutdown.add(`The ${name}`, app.stop, app.kill);
    await untilHealthy(app, url);
  }
  const stop = async () => {
    for (const app of apps) await app.stop();
    await kafka.kill();
  };
  return { brokers, sandboxUrl, bridgeUrl, stop };
}

/** Writes a list to Kafka, as an ERP does. */
export async function sendList(brokers, list, headers = {}) {
  const producer = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING }).producer();
  await producer.connect();
  try {
    const messages = [{ key: list.machineId, value: JSON.stringify(list), headers }];
    await producer.send({ topic: 'erp.work-order-lists.v1', messages });
  } finally {
    await producer.disconnect();
  }
}
