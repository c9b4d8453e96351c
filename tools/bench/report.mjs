import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { ROOT } from '../setup/root.mjs';
import { table } from './table.mjs';

/** What the figures were measured with; without it they say nothing. */
export function circumstances({ how }, { quick, rounds }) {
  const [{ model }] = cpus();
  return {
    commit: git('rev-parse', '--short', 'HEAD') || null,
    measuredAt: new Date().toISOString(),
    cores: cpus().length,
    processor: model.trim(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    kafka: how,
    quick,
    rounds,
  };
}

/** A table for each scenario, under a line on what it was measured with. */
export function resultText(context, results) {
  const { commit, cores, processor, memoryGb, node, quick, rounds } = context;
  const how = `${rounds} ${rounds === 1 ? 'round' : 'rounds'}${quick ? ', a tenth of the load' : ''}`;
  const head = `${commit ?? 'no commit'}, ${how}, ${cores} cores (${processor}), ${memoryGb} GB, Node ${node}`;
  return [head, ...results.map(scenarioText)].join('\n\n');
}

export async function writeJson(file, context, results) {
  const scenarios = results.map(({ rows, ...result }) => ({ ...result, figures: rows }));
  await writeFile(file, `${JSON.stringify({ ...context, scenarios }, null, 2)}\n`);
}

function scenarioText({ name, title, seconds, rows, problem }) {
  const failed =
    problem === null ? [] : [`  WENT WRONG, the figures count for nothing:\n${problem}`];
  return [`${name}: ${title} (${seconds} s)`, ...failed, table(rows)].join('\n');
}

function git(...args) {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim();
}
