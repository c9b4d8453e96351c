import { Command } from 'nest-commander';
import { BridgeCommand } from '../command-line/bridge-command.js';
import { ListCommand } from './list.command.js';
import { ReplayCommand } from './replay.command.js';
import { ShowCommand } from './show.command.js';

/** `dlq list|show|replay`: what an operator does with dead letters. */
@Command({
  name: 'dlq',
  // An unknown name is answered below, better than by counting arguments.
  allowExcessArgs: true,
  description: 'Shows what has been set aside, and puts it back.',
  subCommands: [ListCommand, ShowCommand, ReplayCommand],
})
export class DeadLettersCommand extends BridgeCommand {
  /** Reached only with a name that is none of a sub-command. */
  run([name]: string[]): Promise<void> {
    if (name !== undefined) this.refuse(`unknown command '${name}': it is list, show or replay`);
    return this.command.help({ error: true });
  }
}
