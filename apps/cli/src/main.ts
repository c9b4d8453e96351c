import { ConsoleLogger, type LogLevel, Module } from '@nestjs/common';
import { Command, CommandFactory } from 'nest-commander';
import { EXIT_CODE_BAD_SETTINGS, SettingsError } from '#libs/config';
import { CommandGroup } from './command-line/base-command.js';
import { npmUsage } from './command-line/npm-usage.js';
import { ListCommand } from './dlq/list.command.js';
import { ReplayCommand } from './dlq/replay.command.js';
import { ShowCommand } from './dlq/show.command.js';
import { PreviewCommand } from './erp/preview.command.js';
import { SendCommand } from './send/send.command.js';

/** Wrong use of a command (sysexits: EX_USAGE). */
const EXIT_CODE_USAGE = 64;

@Command({
  name: 'dlq',
  // The group reports an unknown name, which says more than the number of arguments.
  allowExcessArgs: true,
  description: 'Shows dead letters, the messages that were rejected, and replays them.',
  subCommands: [ListCommand, ShowCommand, ReplayCommand],
})
class DlqCommand extends CommandGroup {}

@Command({
  name: 'erp',
  allowExcessArgs: true,
  description: 'Tries ERP documents out.',
  subCommands: [PreviewCommand],
})
class ErpCommand extends CommandGroup {}

@Module({
  providers: [
    SendCommand,
    ...DlqCommand.registerWithSubCommands(),
    ...ErpCommand.registerWithSubCommands(),
  ],
})
class CliModule {}

/** Warnings and errors on stderr; stdout has the command's result alone. */
class StderrLogger extends ConsoleLogger {
  constructor() {
    super({ logLevels: ['warn', 'error', 'fatal'] });
  }

  protected override printMessages(
    messages: unknown[],
    context?: string,
    logLevel?: LogLevel,
  ): void {
    // The client retries by itself; when it gives up, the command ends with an error of its own.
    if (context === 'kafkajs') return;
    for (const message of messages) {
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      process.stderr.write(`${logLevel ?? ''} ${context ?? ''}: ${text}\n`);
    }
  }
}

/** Sets the exit code, and prints the error unless commander has. */
function reportFailure(error: Error): void {
  if (isCommanderError(error)) {
    // Help that was asked for "fails" with 0.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODE_USAGE;
    return;
  }
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error instanceof SettingsError ? EXIT_CODE_BAD_SETTINGS : 1;
}

/** The class belongs to a dependency of nest-commander, which cannot be imported. */
function isCommanderError(error: Error): error is Error & { exitCode: number } {
  return 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.');
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output, such as head, has closed the pipe.
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

await CommandFactory.run(CliModule, {
  logger: new StderrLogger(),
  abortOnError: false,
  errorHandler: (error) => {
    throw error;
  },
  serviceErrorHandler: reportFailure,
  helpConfiguration: { commandUsage: npmUsage },
});

// Connections and retries to a silent Kafka would keep the process running.
process.stdout.write('', () => process.exit());
