import { CommandRunner } from 'nest-commander';

type Command = Parameters<CommandRunner['setCommand']>[0];

/** Strict use of options and arguments, for all commands. */
export abstract class BaseCommand extends CommandRunner {
  /** commander would end the process by itself, with code 1: wrong use is thrown instead, and reported in one place. */
  override setCommand(command: Command): this {
    command.exitOverride().allowExcessArguments(false).helpOption('-h, --help', 'shows this');
    refuseRepeatedOptions(command);
    return super.setCommand(command);
  }

  /** Throws wrong use of the command. */
  protected refuse(problem: string): never {
    return this.command.error(`error: ${problem}`);
  }
}

/** A command with sub-commands alone. */
export abstract class CommandGroup extends BaseCommand {
  /** Runs only without the name of a sub-command. */
  run([name]: string[]): Promise<void> {
    if (name === undefined) return this.command.help({ error: true });
    const names = this.command.commands.map((command) => command.name());
    const list = [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '');
    this.refuse(`unknown command '${name}': it is ${list.join(' or ')}`);
  }
}

/**
 * Refuses a second value for each option that is added from now on: commander would silently take the last one, and
 * replay other dead letters than were asked for.
 */
function refuseRepeatedOptions(command: Command): void {
  const addOption = command.addOption.bind(command);
  command.addOption = (option) => {
    addOption(option);
    if (option.isBoolean()) return command;
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (isGiven) command.error(`error: option '${option.flags}' may be given once only`);
      isGiven = true;
    });
    return command;
  };
}
