import { CliCommand } from './command-line/command.js';
import { addCompletionCommand } from './command-line/completion.js';
import { VERSION } from './command-line/version.js';
import { addListCommand } from './dlq/list.js';
import { addReplayCommand } from './dlq/replay-command.js';
import { addShowCommand } from './dlq/show.js';
import { addPreviewCommand } from './erp/preview.js';
import { addSendCommand } from './send/send.js';

/** All commands; nothing is read or opened before one is parsed. */
export function createProgram(): CliCommand {
  const program = new CliCommand('machine-bridge');
  program
    .description('Looks after a machine-bridge: settings, topics, offsets, machines, dead letters.')
    .version(VERSION, '-V, --version', 'prints the version')
    .usage('<command>');
  addSendCommand(program);
  const dlq = program.group(
    'dlq',
    'Shows dead letters, the messages that were rejected, and replays them.',
  );
  addListCommand(dlq);
  addShowCommand(dlq);
  addReplayCommand(dlq);
  addPreviewCommand(program.group('erp', 'Tries ERP documents out.'));
  addCompletionCommand(program);
  return program;
}
