/** The part of commander's Command that the usage needs. */
interface NamedCommand {
  name(): string;
  usage(): string;
  parent: NamedCommand | null;
}

/** The commands that are npm scripts. */
const NPM_SCRIPTS = ['send', 'dlq', 'erp'];

/** What `machine-bridge.mjs` calls the process, so that the usage is what was typed. */
const PROGRAM = 'machine-bridge';

/** The line to type: that of the npm script where there is one, unless the command was called as `machine-bridge`. */
export function npmUsage(command: NamedCommand, calledAs = process.title): string {
  const names: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name());
  const [script = '', ...subCommands] = names;
  const begin =
    calledAs !== PROGRAM && NPM_SCRIPTS.includes(script)
      ? ['npm run', script, '--']
      : [PROGRAM, ...(script === '' ? [] : [script])];
  return [...begin, ...subCommands, command.usage()].join(' ');
}
