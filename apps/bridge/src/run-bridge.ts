import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { loadBridgeSettings, readEnvironment } from '#libs/config';
import { exitBecause } from '#libs/program';
import { createBridge } from './create-bridge.js';
import type { ExitOnSignals } from './exit-on-signals.js';

const logger = new Logger('Bridge');

/** The bridge as a process: resolves once it consumes; ends the process where it cannot start. */
export async function runBridge(signals: ExitOnSignals): Promise<void> {
  process.on('unhandledRejection', (error) => {
    // A bug of ours or of a client library's; offsets and outcomes do not depend on such a promise.
    logger.error({ msg: 'unhandled rejection', err: error });
  });
  try {
    await start(signals);
  } catch (error) {
    // What cannot start because it is being stopped is no failure: the stop ends the process.
    if (!signals.isStopping) {
      exitBecause(error, { title: 'The bridge', portSetting: 'BRIDGE_HTTP_PORT' });
    }
  }
}

async function start(signals: ExitOnSignals): Promise<void> {
  const settings = loadBridgeSettings(readEnvironment());
  const bridge = await createBridge(settings);
  signals.after((signal) => stopInTime(signal, () => bridge.close()));
  for (const setting of settings.unsupported) {
    logger.warn({ msg: 'a setting has no effect', ...setting });
  }
  await bridge.start();
  const { flows, kafka } = settings;
  logger.log({ msg: 'consuming', flows: [...flows], topicPrefix: kafka.topicPrefix });
}

/** Ten seconds for calls in flight and a little for leaving; a stop never takes longer, broker or no broker. */
const STOP_DEADLINE_MS = 14_000;
const stopLogger = new Logger('Stop');

/** Stops and says so; never rejects. */
async function stopInTime(signal: NodeJS.Signals, stop: () => Promise<void>): Promise<void> {
  stopLogger.log({ msg: 'stopping', signal });
  const deadline = realDelayMs(STOP_DEADLINE_MS).then(() => {
    stopLogger.warn({ msg: 'the stop took too long and is cut short', afterMs: STOP_DEADLINE_MS });
  });
  const stopped = stop().catch((error: unknown) => {
    stopLogger.error({ msg: 'the stop met an error', err: error });
  });
  await Promise.race([stopped, deadline]);
  stopLogger.log({ msg: 'stopped' });
}
