import { Command, type Option } from 'commander';
import { readUrl } from './option-values.js';

/** The option of every command whose result is for a program, too. */
export const JSON_OPTION = ['--json', 'one JSON object a line, for a program'] as const;

export interface JsonOptions {
  json?: boolean;
}

/** The option of commands that ask a running bridge. */
export const BRIDGE_OPTION = [
  '--bridge <url>',
  'of any process of the group, in place of BRIDGE_HTTP_HOST and BRIDGE_HTTP_PORT',
  readUrl,
] as const;

export interface BridgeOptions extends JsonOptions {
  bridge?: string;
}

/**
 * A command that reports wrong use by throwing, so that `main.ts` sets all exit codes, and that takes no option or
 * argument more than it knows.
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

  /** A command of a group would take any number of arguments, as the group does. */
  override copyInheritedSettings(source: Command): this {
    return super.copyInheritedSettings(source).allowExcessArguments(false);
  }

  /**
   * Refuses a second value of an option: commander would silently take the last one, and replay other dead letters than
   * were asked for.
   */
  override addOption(option: Option): this {
    super.addOption(option);
    if (option.isBoolean()) return this;
    let isGiven = false;
    return this.on(`option:${option.name()}`, () => {
      if (isGiven) this.refuse(`option '${option.flags}' may be given once only`);
      isGiven = true;
    });
  }

  /** A command with sub-commands alone. */
  group(name: string, description: string): CliCommand {
    const group = this.command(name).description(description).usage('<command>');
    return group.allowExcessArguments().action(() => group.refuseUnknown(group.args[0]));
  }

  /** Throws wrong use of the command. */
  refuse(problem: string): never {
    return this.error(`error: ${problem}`);
  }

  /** The command of that name below this one. */
  below(name: string): CliCommand {
    const found = this.commands.find((command) => command.name() === name);
    return (found as CliCommand | undefined) ?? this.refuseUnknown(name);
  }

  private refuseUnknown(name: string | undefined): never {
    if (name === undefined) return this.help({ error: true });
    const names = this.commands.map((command) => command.name());
    if (names.length === 0)
      return this.refuse(`'${this.name()}' has no command '${name}' below it`);
    const list = [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '');
    return this.refuse(`unknown command '${name}': it is ${list.join(' or ')}`);
  }
}

/** The first sentence of a description, for a list of commands. */
export function firstSentence(command: Command): string {
  return command.description().split(/(?<=\.)\s/)[0] ?? '';
}

/** The commands that are npm scripts. */
const NPM_SCRIPTS = ['send', 'dlq', 'erp'];

/** What `machine-bridge.mjs` calls the process, so that the usage is what was typed. */
const PROGRAM = 'machine-bridge';

/** The line to type: that of the npm script where there is one, unless the command was called as `machine-bridge`. */
export function npmUsage(command: Command, calledAs = process.title): string {
  const names: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) names.unshift(at.name());
  const [script = ''] = names;
  const isScript = calledAs !== PROGRAM && NPM_SCRIPTS.includes(script);
  const begin = isScript ? ['npm run', script, '--', ...names.slice(1)] : [PROGRAM, ...names];
  return [...begin, command.usage()].join(' ');
}
