import { parseArgs } from 'node:util';
import { SetupError } from '../setup/command.mjs';

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  json: { type: 'string' },
  chart: { type: 'string' },
  help: { type: 'boolean', default: false },
};

/** The text of --help, for scenarios of `{name, title}`. */
export function helpText(scenarios) {
  const width = Math.max(...scenarios.map(({ name }) => name.length));
  return `npm run bench [-- [scenario …] [--quick] [--rounds <n>] [--json <file>] [--chart <file>]]

Scenarios, all unless some are named:
${scenarios.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`).join('\n')}

  --quick        a tenth of the load, one round: to see that it works, not how fast
  --rounds <n>   how often each scenario is run; the median counts (2)
  --json <file>  writes every figure of every round to a file
  --chart <file> draws what rivals has found, as SVG`;
}

/**
 * @returns `{help, quick, rounds, json, chart, chosen}`
 * @throws SetupError when an argument is unknown
 */
export function readOptions(args, scenarios) {
  const { values, positionals } = parse(args);
  const unknown = positionals.filter(
    (name) => !scenarios.some((scenario) => scenario.name === name),
  );
  if (unknown.length > 0) throw misused(`There is no scenario ${unknown.join(', ')}.`);
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 2));
  if (!Number.isInteger(rounds) || rounds < 1) throw misused('--rounds takes a number from 1 on.');
  const isChosen = ({ name }) => positionals.length === 0 || positionals.includes(name);
  return { ...values, rounds, chosen: scenarios.filter(isChosen) };
}

function parse(args) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw misused(error.message);
  }
}

function misused(why) {
  return new SetupError(`${why}\nnpm run bench -- --help says what there is.`);
}
