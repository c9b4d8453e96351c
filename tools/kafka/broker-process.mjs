import { setTimeout as delay } from 'node:timers/promises';
import { spawnGuarded } from '../process/guarded.mjs';
import { lastLines, SetupError } from '../setup/command.mjs';
import { layoutOf, readLog } from './data-folder.mjs';
import { noteBroker } from './earlier-broker.mjs';
import { smallJvm } from './java.mjs';

const START_TIMEOUT_MS = 180_000;
const STARTED = 'Kafka Server started';
const JVM = [
  ...smallJvm(256),
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
];

/** The broker ended before it was ready. */
export class BrokerEndedError extends SetupError {}

/** Starts the node of a prepared folder and waits until the node logs that it has started. */
export async function startBroker({ dir, java, classPath, afterwards, systemProperties = {} }) {
  const { properties, log } = layoutOf(dir);
  const given = Object.entries(systemProperties).map(([name, value]) => `-D${name}=${value}`);
  const args = [...JVM, ...given, '-cp', classPath, 'kafka.Kafka', properties];
  const broker = spawnGuarded(java, args, { output: { log }, graceMs: 10_000, afterwards });
  const pid = await broker.started;
  if (pid !== undefined) await noteBroker(dir, pid);
  await untilStarted(broker, dir);
  return broker;
}

async function untilStarted(broker, dir) {
  const ended = broker.exited.then(({ code, signal, error }) => error ?? `exit ${code ?? signal}`);
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (let log = ''; !log.includes(STARTED);) {
    const end = await Promise.race([ended, delay(50)]);
    // a folder that is removed with its broker may be gone before the end of the broker is known
    log = (await readLog(dir)) || log;
    if (end !== undefined) throw new BrokerEndedError(explain(`ended (${end})`, dir, log));
    if (Date.now() < deadline) continue;
    await broker.kill();
    throw new SetupError(explain(`was not ready after ${START_TIMEOUT_MS / 1000} s`, dir, log));
  }
}

function explain(what, dir, log) {
  return (
    `Kafka ${what} while starting. Its last lines, of ${layoutOf(dir).log}:\n` +
    `${lastLines(log).join('\n')}\n` +
    `If nothing there helps, delete ${dir} and try again, or name a broker of your own in KAFKA_BROKERS.`
  );
}
