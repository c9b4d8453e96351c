import { Argument, type Command } from 'commander';
import { type CliCommand, firstSentence } from './command.js';
import { print } from './output.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function addCompletionCommand(program: CliCommand): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .description('Prints a script with which a shell completes commands, options and their values.')
    .addHelpText(
      'after',
      `
Examples:
  source <(machine-bridge completion bash)        # in ~/.bashrc
  source <(machine-bridge completion zsh)         # in ~/.zshrc, behind compinit
  machine-bridge completion fish | source         # in ~/.config/fish/config.fish`,
    )
    .action((shell: Shell) => print(SCRIPTS[shell](commandsIn(program))));
}

/** A command with its path, such as `/dlq/list`. */
interface CommandPath {
  path: string;
  words: readonly Word[];
  options: readonly { flag: string; description: string; takesValue: boolean; values: string[] }[];
}

interface Word {
  word: string;
  description: string;
}

function commandsIn(command: Command, path = ''): CommandPath[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).map((option) => ({
    flag: option.long ?? '',
    description: option.description,
    takesValue: !option.isBoolean(),
    values: option.argChoices ?? [],
  }));
  const words = [
    ...command.commands.map((sub) => ({ word: sub.name(), description: firstSentence(sub) })),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
      argChoices.map((word) => ({ word, description: '' })),
    ),
  ];
  const subPaths = command.commands.flatMap((sub) => commandsIn(sub, `${path}/${sub.name()}`));
  return [{ path, words, options }, ...subPaths];
}

const SCRIPTS: Record<Shell, (places: readonly CommandPath[]) => string> = {
  bash: (places) => `_machine_bridge() {
  local current=\${COMP_WORDS[COMP_CWORD]} at='' word candidates=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at/$word" in ${pathsOf(places)}) at="$at/$word" ;; esac
  done
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${valueCases(places)}
  *) case "$at" in
${candidateCases(places)}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _machine_bridge machine-bridge`,
  zsh: (places) => `#compdef machine-bridge
_machine_bridge() {
  local at='' word candidates=''
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in ${pathsOf(places)}) at="$at/$word" ;; esac
  done
  case "$at \${words[CURRENT-1]}" in
${valueCases(places)}
  *) case "$at" in
${candidateCases(places)}
    esac ;;
  esac
  compadd -- \${=candidates}
  [[ "$PREFIX" == -* ]] || _files
}
compdef _machine_bridge machine-bridge`,
  fish: (places) => `function __machine_bridge_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at/$word"
      case ${below(places).map(quoted).join(' ')}
        set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
${places.flatMap(fishLines).join('\n')}`,
};

function below(places: readonly CommandPath[]): string[] {
  return places.map(({ path }) => path).filter((path) => path !== '');
}

function pathsOf(places: readonly CommandPath[]): string {
  return below(places).join('|');
}

/** Completes the fixed values of an option; without any, the shell completes file names. */
function valueCases(places: readonly CommandPath[]): string {
  return places
    .flatMap(({ path, options }) =>
      options
        .filter(({ takesValue }) => takesValue)
        .map(
          ({ flag, values }) =>
            `  ${quoted(`${path} ${flag}`)}) candidates='${values.join(' ')}' ;;`,
        ),
    )
    .join('\n');
}

function candidateCases(places: readonly CommandPath[]): string {
  return places
    .map(({ path, words, options }) => {
      const candidates = [...words.map(({ word }) => word), ...options.map(({ flag }) => flag)];
      return `    ${quoted(path)}) candidates='${candidates.join(' ')}' ;;`;
    })
    .join('\n');
}

function fishLines({ path, words, options }: CommandPath): string[] {
  const here = `complete -c machine-bridge -n ${quoted(`__machine_bridge_at ${quoted(path)}`)}`;
  const described = (description: string): string =>
    description === '' ? '' : ` -d ${quoted(description)}`;
  return [
    ...words.map(({ word, description }) => `${here} -f -a ${word}${described(description)}`),
    ...options.map(({ flag, description, takesValue, values }) => {
      const value = takesValue ? ' -r' : '';
      const choices = values.length === 0 ? '' : ` -f -a ${quoted(values.join(' '))}`;
      return `${here} -l ${flag.slice(2)}${value}${choices}${described(description)}`;
    }),
  ];
}

/** A quoted word for all three shells. */
function quoted(text: string): string {
  return text.includes("'") ? `"${text}"` : `'${text}'`;
}
