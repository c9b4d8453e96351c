/** The part of commander's Command that the usage needs. */
interface NamedCommand {
  name(): string;
  usage(): string;
  parent: NamedCommand | null;
}

/** The line to type: each command of the first level is an npm script. */
export function npmUsage(command: NamedCommand): string {
  const names: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name());
  const [script = '<command>', ...subCommands] = names;
  return ['npm run', script, '--', ...subCommands, command.usage()].join(' ');
}
