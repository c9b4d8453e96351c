/** As much of commander's Command as its help needs. */
interface NamedCommand {
  name(): string;
  usage(): string;
  parent: NamedCommand | null;
}

/** The line a person types: each command of the first level has an npm script of its name. */
export function howToCall(command: NamedCommand): string {
  const names: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name());
  const [script = '<command>', ...subCommands] = names;
  return ['npm run', script, '--', ...subCommands, command.usage()].join(' ');
}
