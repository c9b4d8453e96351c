import { Logger } from '@nestjs/common';
import { EXIT_CODE_BAD_SETTINGS, SettingsError } from '#libs/config';
import { send, SEND_HELP } from './commands/send.js';

const COMMANDS: Record<string, (args: string[], print: (line: string) => void) => Promise<void>> = {
  send,
};

/** The bridge's commands beside the running bridge; their output is for a person at a terminal. */
async function main([name, ...args]: string[]): Promise<void> {
  Logger.overrideLogger(['warn', 'error', 'fatal']);
  const command = COMMANDS[name ?? ''];
  const print = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  if (command === undefined || args.includes('--help')) print(SEND_HELP);
  else await command(args, print);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof SettingsError ? EXIT_CODE_BAD_SETTINGS : 1;
});
