import { type CommandRunner } from 'nest-commander';

type Command = Parameters<CommandRunner['setCommand']>[0];

/**
 * Has every option with a value that is added from now on refused when it is given again: commander would take the
 * last one in silence, and a replay be of other letters than was asked for.
 */
export function refuseRepeated(command: Command): void {
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
