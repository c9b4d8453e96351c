import { loadSettingsFile, SettingsError } from '#libs/config';
import { VERSION } from '#libs/program';
import { addCheckCommands } from './checks/doctor.js';
import { CliCommand } from './command-line/command.js';
import { addCompletionCommand } from './command-line/completion.js';
import { readPath, unreadableBecause } from './command-line/option-values.js';
import { addListCommand, addShowCommand } from './dlq/list-and-show.js';
import { addReplayCommand } from './dlq/replay.js';
import { addMapCommand } from './erp/map.js';
import { addPreviewCommand } from './erp/preview.js';
import { addFlowsCommands } from './flows/flows.js';
import { addMachinesCommand } from './machines/machines.js';
import { addWatchCommand } from './machines/watch.js';
import { addOffsetsCommands } from './offsets/offsets.js';
import { addOutcomesCommand } from './outcomes/outcomes.js';
import { addSendCommand } from './send/send.js';
import { addTopicsCommands } from './topics/topics.js';

/** Creates all commands. Reads settings and opens connections only when a command runs. */
export function createProgram(): CliCommand {
  const program = new CliCommand('machine-bridge');
  program
    .description(
      'Looks after a machine-bridge: settings, topics, offsets, machines, flows, dead letters.',
    )
    .version(VERSION, '-V, --version', 'prints the version')
    .option('--settings-file <file>', 'adds settings of a file such as .env to the environment')
    .on('option:settings-file', loadSettings)
    .usage('[options] <command>');
  addCheckCommands(program);
  addMachinesCommand(program);
  addWatchCommand(program);
  addOutcomesCommand(program);
  addFlowsCommands(program);
  addTopicsCommands(program);
  addOffsetsCommands(program);
  addSendCommand(program);
  const dlq = program.addGroup(
    'dlq',
    'Shows dead letters, the messages that were rejected, and replays them.',
  );
  addListCommand(dlq);
  addShowCommand(dlq);
  addReplayCommand(dlq);
  const erp = program.addGroup(
    'erp',
    'Tries ERP documents out, and proposes entries of the equipment map.',
  );
  addPreviewCommand(erp);
  addMapCommand(erp);
  addCompletionCommand(program);
  addHelpCommand(program);
  return program;
}

/** commander's own help command knows only the first level of commands. */
function addHelpCommand(program: CliCommand): void {
  program
    .command('help')
    .argument('[command...]', 'such as dlq show')
    .description('Shows this, or what a command takes.')
    .action((names: string[]) => {
      let command: CliCommand = program;
      for (const name of names) command = command.subCommand(name);
      command.help();
    });
}

/** @throws SettingsError for a file that cannot be read */
function loadSettings(file: string): void {
  try {
    loadSettingsFile(readPath(file));
  } catch (cause) {
    throw new SettingsError([`${file} cannot be read: ${unreadableBecause(cause)}`]);
  }
}
