import { Command, type Option } from 'commander';
import { readUrl } from './option-values.js';

/** The option of every command whose result programs may read. */
export const JSON_OPTION = ['--json', 'one JSON object a line, for a program'] as const;

export interface JsonOptions {
  json?: boolean;
}

/** The option of commands that make requests to a running bridge. */
export const BRIDGE_OPTION = [
  '--bridge <url>',
  'of any process of the group, in place of BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT',
  readUrl,
] as const;

export interface BridgeOptions extends JsonOptions {
  bridge?: string;
}

/**
 * A command that throws on wrong use, so that `main.ts` sets all exit codes, and that refuses unknown options and
 * arguments.
 */
export class CliCommand extends Command {
  constructor(name?: string) {
    super(name);
    this.exitOverride().allowExcessArguments(false).helpOption('-h, --help', 'shows this');
    this.showHelpAfterError('(--help says what there is)').helpCommand(false).configureHelp({
      commandUsage: npmUsage,
      subcommandDescription: firstSentence,
    });
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** Otherwise a command of a group would inherit that the group accepts any number of arguments. */
  override copyInheritedSettings(source: Command): this {
    return super.copyInheritedSettings(source).allowExcessArguments(false);
  }

  /**
   * Refuses a second value of an option: commander would silently use the last one, and replay other dead letters than
   * intended.
   */
  override addOption(option: Option): this {
    super.addOption(option);
    if (option.isBoolean()) return this;
    let isGiven = false;
    return this.on(`option:${option.name()}`, () => {
      if (isGiven) this.refuseUsage(`option '${option.flags}' may be given once only`);
      isGiven = true;
    });
  }

  /** A command that only has sub-commands. */
  addGroup(name: string, description: string): CliCommand {
    const group = this.command(name).description(description).usage('<command>');
    return group.allowExcessArguments().action(() => group.refuseUnknown(group.args[0]));
  }

  refuseUsage(problem: string): never {
    return this.error(`error: ${problem}`);
  }

  subCommand(name: string): CliCommand {
    const found = this.commands.find((command) => command.name() === name);
    return (found as CliCommand | undefined) ?? this.refuseUnknown(name);
  }

  private refuseUnknown(name: string | undefined): never {
    if (name === undefined) return this.help({ error: true });
    const names = this.commands.map((command) => command.name());
    if (names.length === 0)
      return this.refuseUsage(`'${this.name()}' has no command '${name}' below it`);
    const list = [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '');
    return this.refuseUsage(`unknown command '${name}': it is ${list.join(' or ')}`);
  }
}

export function firstSentence(command: Command): string {
  return command.description().split(/(?<=\.)\s/)[0] ?? '';
}

/** Commands that are also npm scripts. */
const NPM_SCRIPTS = ['send', 'dlq', 'erp'];

/** `machine-bridge.mjs` sets this process title, so that the usage shows what was typed. */
const PROGRAM = 'machine-bridge';

/** The usage line: that of the npm script if there is one, unless the command was called as `machine-bridge`. */
function npmUsage(command: Command): string {
  const names: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name());
  const [script = ''] = names;
  const isScript = process.title !== PROGRAM && NPM_SCRIPTS.includes(script);
  const begin = isScript ? ['npm run', script, '--', ...names.slice(1)] : [PROGRAM, ...names];
  return [...begin, command.usage()].join(' ');
}
