import { CommandRunner } from 'nest-commander';
import { refuseRepeated } from './refuse-repeated.js';

type Command = Parameters<CommandRunner['setCommand']>[0];

/** What the commands beside the bridge have in common. */
export abstract class BridgeCommand extends CommandRunner {
  /** commander would end the process by itself, and with 1: a wrong use is thrown, and reported in one place. */
  override setCommand(command: Command): this {
    command.exitOverride().allowExcessArguments(false).helpOption('-h, --help', 'shows this');
    refuseRepeated(command);
    return super.setCommand(command);
  }

  /** What is wrong with how the command was used. */
  protected refuse(problem: string): never {
    return this.command.error(`error: ${problem}`);
  }
}
