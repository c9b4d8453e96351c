import { CommandFactory } from 'nest-commander';
import { CommandsModule } from './commands.module.js';
import { howToCall } from './command-line/how-to-call.js';
import { reportFailure } from './command-line/report-failure.js';
import { StderrLogger } from './command-line/stderr-logger.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read the output, such as head, has seen enough.
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

/** The bridge's commands beside the running bridge; their output is for a person at a terminal. */
await CommandFactory.run(CommandsModule, {
  logger: new StderrLogger(),
  abortOnError: false,
  errorHandler: (error) => {
    throw error;
  },
  serviceErrorHandler: reportFailure,
  helpConfiguration: { commandUsage: howToCall },
});

// A Kafka that has fallen silent leaves connections and retries behind, which would keep the process.
process.stdout.write('', () => process.exit());
