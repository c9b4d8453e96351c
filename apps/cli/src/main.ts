import { ConsoleLogger, Logger, type LogLevel } from '@nestjs/common';
import { CommanderError } from 'commander';
import { SettingsError } from '#libs/config';
import { EXIT_CODES, UnreachableError } from './command-line/exit-codes.js';
import { printStatus, visible, visibleLines } from './command-line/output.js';
import { createProgram } from './program.js';

/** Writes the libraries' warnings and errors to stderr; stdout has only the command's result. */
class StderrLogger extends ConsoleLogger {
  constructor() {
    super({ logLevels: ['warn', 'error', 'fatal'] });
  }

  protected override printMessages(
    messages: unknown[],
    context?: string,
    logLevel?: LogLevel,
  ): void {
    // the client retries by itself; when it gives up, the command fails with its own error
    if (context === 'kafkajs') return;
    for (const message of messages) {
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      process.stderr.write(`${logLevel ?? ''} ${context ?? ''}: ${visible(text)}\n`);
    }
  }
}

/** Older than the exit code `unreachable`: scripts rely on 1. */
const COMMANDS_WITHOUT_UNREACHABLE = ['dlq', 'send'];

function exitCodeOf(error: unknown, command = ''): number {
  // commander throws also for --help and --version, with exit code 0
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage;
  if (error instanceof SettingsError) return EXIT_CODES.settings;
  const isUnreachable =
    error instanceof UnreachableError && !COMMANDS_WITHOUT_UNREACHABLE.includes(command);
  return isUnreachable ? EXIT_CODES.unreachable : EXIT_CODES.failed;
}

function exit(error?: NodeJS.ErrnoException | null): never {
  // EPIPE: the reader of the output, such as head, has closed the pipe
  if (error == null || error.code === 'EPIPE') process.exit(process.exitCode);
  process.stderr.write(`the output cannot be written: ${error.message}\n`);
  process.exit(EXIT_CODES.failed);
}

process.stdout.on('error', exit);
// a closed stderr must not end the command
process.stderr.on('error', () => undefined);

Logger.overrideLogger(new StderrLogger());
const program = createProgram();
try {
  await program.parseAsync();
} catch (error) {
  // commander has printed its own errors
  if (!(error instanceof CommanderError)) {
    // the message may contain text from a server's answer
    visibleLines(error instanceof Error ? error.message : String(error)).forEach(printStatus);
  }
  process.exitCode = exitCodeOf(error, program.args[0]);
}

// exits explicitly, because connections and retries to a silent Kafka would keep the process running
process.stdout.write('', exit);
