import { Logger } from '@nestjs/common';
import { loadBridgeSettings, readEnvironment } from '#libs/config';
import { runProgram } from '#libs/program';
import { createBridge } from './create-bridge.js';

/** Ten seconds for calls under way and a few to leave the group, whether or not a broker answers. */
const STOP_DEADLINE_MS = 14_000;

const logger = new Logger('Bridge');
const stopLogger = new Logger('Stop');

/** Runs the bridge as a process: resolves once it consumes, ends the process if it cannot start. */
export function runBridge(): Promise<void> {
  return runProgram({
    title: 'The bridge',
    logContext: 'Bridge',
    portSetting: 'BRIDGE_HTTP_PORT',
    stopDeadlineMs: STOP_DEADLINE_MS,
    create: async () => {
      const settings = loadBridgeSettings(readEnvironment());
      const bridge = await createBridge(settings);
      return {
        unsupported: settings.unsupported,
        start: async () => {
          await bridge.start();
          const { flows, kafka } = settings;
          logger.log({ msg: 'consuming', flows: [...flows], topicPrefix: kafka.topicPrefix });
        },
        close: async (signal) => {
          stopLogger.log({ msg: 'stopping', signal });
          // before pino's own listener, which flushes the log
          process.prependOnceListener('exit', (code) => {
            if (code === 0) stopLogger.log({ msg: 'stopped' });
          });
          await bridge.close().catch((error: unknown) => {
            stopLogger.error({ msg: 'the stop met an error', err: error });
          });
        },
      };
    },
  });
}
