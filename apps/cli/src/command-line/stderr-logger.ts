import { ConsoleLogger, type LogLevel } from '@nestjs/common';

/** Warnings and errors for the person at the terminal; stdout belongs to what the command yields. */
export class StderrLogger extends ConsoleLogger {
  constructor() {
    super({ logLevels: ['warn', 'error', 'fatal'] });
  }

  protected override printMessages(
    messages: unknown[],
    context?: string,
    logLevel?: LogLevel,
  ): void {
    // What the client retries by itself; what it gives up ends the command, with an error of its own.
    if (context === 'kafkajs') return;
    for (const message of messages) {
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      process.stderr.write(`${logLevel ?? ''} ${context ?? ''}: ${text}\n`);
    }
  }
}
