import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createProgram, EXIT_CODES } from '../../apps/cli/src/index.js';

type CliCommand = ReturnType<typeof createProgram>;

const read = (path: string): string =>
  readFileSync(join(resolve(import.meta.dirname, '../..'), 'docs', path), 'utf8');
const page = read('cli.md');

/** The first cells of the tables below a heading. */
function firstCells(heading: string): string[] {
  const [, rest = ''] = page.split(`\n${heading}\n`);
  const [text = ''] = rest.split(/^#+ /m);
  return [...text.matchAll(/^\| `?([^`|]+)`? +\|/gm)].map(([, cell = '']) => cell.trim()).slice(2);
}

/** Commands that do something, with the words that call them. */
function commandsOf(command: CliCommand, path: string[] = []): [string, CliCommand][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((sub) => commandsOf(sub as CliCommand, [...path, sub.name()]));
}

const commands = commandsOf(createProgram());

describe('the commands in the documents', () => {
  it('are all that there are', () => {
    const [table = ''] = page.split('\n## ');
    const documented = [...table.matchAll(/^\| `([a-z][a-z ]*)` +\|/gm)].map(([, name]) => name);
    expect(documented.sort()).toEqual(commands.map(([name]) => name).sort());
  });

  const forPeople = ['completion', 'help'];
  it.each(commands.filter(([name]) => !forPeople.includes(name)))(
    'take --json: %s',
    (_, command) => {
      expect(command.options.map(({ long }) => long)).toContain('--json');
    },
  );

  it.each(commands)('describe themselves and each of their options: %s', (_, command) => {
    expect(command.description()).not.toBe('');
    expect(command.options.filter(({ description }) => description === '')).toEqual([]);
  });
});

describe('the options in the documents', () => {
  const program = createProgram();
  const known = [program, ...commands.map(([, command]) => command)].flatMap((command) =>
    command.createHelp().visibleOptions(command),
  );
  const flags = new Set(known.flatMap(({ long }) => (long == null ? [] : [long])));
  const flagsIn = (text: string): Set<string> => new Set(text.match(/--[a-z]+(-[a-z]+)*/g));

  it('are all that there are', () => {
    const documented = flagsIn(['cli.md', 'dead-letters.md', 'erp/index.md'].map(read).join());
    expect([...flags].filter((flag) => !documented.has(flag))).toEqual([]);
  });

  it('are all known to the program', () => {
    expect([...flagsIn(page)].filter((flag) => !flags.has(flag))).toEqual([]);
  });
});

describe('the exit codes in the documents', () => {
  it('are those of the program', () => {
    expect(firstCells('## Exit codes')).toEqual(Object.values(EXIT_CODES).map(String));
  });
});
