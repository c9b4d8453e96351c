import { say, SetupError, step } from '../setup/command.mjs';
import { Figures } from './figures.mjs';
import { WrongResult } from './outcomes.mjs';

const QUICK = 10;

/**
 * Runs the scenarios round by round, and yields `{name, title, seconds, rows, problem}` of each. A scenario may have
 * its own `rounds`. A scenario that goes wrong keeps its `problem`; the others still run.
 */
export async function runScenarios(bench, { chosen, ...options }) {
  const results = [];
  for (const scenario of chosen) results.push(await runScenario(bench, scenario, options));
  return results;
}

async function runScenario(bench, scenario, options) {
  const { name, title } = scenario;
  const startMs = performance.now();
  const figures = new Figures();
  say(`\n${name}: ${title}`);
  const problem = await runRounds(bench, scenario, options, figures);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  return { name, title, seconds, rows: figures.rows(), problem };
}

/** Adds to the figures; yields the problem, or null. */
async function runRounds(bench, { name, round, ...own }, { quick, ...wanted }, figures) {
  const rounds = own.rounds ?? wanted.rounds;
  const scaled = (count) => (quick ? count / QUICK : count);
  try {
    for (let number = 1; number <= rounds; number += 1) {
      const of = rounds === 1 ? '' : `round ${number} of ${rounds}: `;
      const named = (what, work) => step(of + what, work);
      await round({ ...bench, quick, scaled, step: named }, figures);
    }
    return null;
  } catch (error) {
    // a failure caused by the shutdown needs no explanation, and nothing may follow
    if (bench.shutdown.signal.aborted) return new Promise(() => undefined);
    const problem = describe(error);
    say(`  ${name} went wrong:\n${problem}`);
    return problem;
  }
}

function describe(error) {
  const isExpected = error instanceof WrongResult || error instanceof SetupError;
  return isExpected ? error.message : error.stack;
}
