import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { ROOT } from '../setup/command.mjs';
import { OTHERS } from './costs.mjs';

const OTHERS_MATTER_PERCENT = 25;
const HEAD = ['case', 'figure', 'median', 'rounds', 'target', ''];
const ALIGN_RIGHT = new Set([2, 3, 4]);

/** The conditions of the measurement, without which its figures mean nothing. */
export function circumstances({ how }, { quick, rounds }) {
  const [core] = cpus();
  return {
    commit: git('rev-parse', '--short', 'HEAD') || null,
    measuredAt: new Date().toISOString(),
    cores: cpus().length,
    processor: core?.model.trim() || process.arch,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    kafka: how,
    quick,
    rounds,
  };
}

/** A table for each scenario, below a line with the conditions. */
export function resultText(context, results) {
  const { commit, cores, processor, memoryGb, node, quick, rounds } = context;
  const how = `${rounds} ${rounds === 1 ? 'round' : 'rounds'}${quick ? ', a tenth of the load' : ''}`;
  const head = `${commit ?? 'no commit'}, ${how}, ${cores} cores (${processor}), ${memoryGb} GB, Node ${node}`;
  return [head, ...results.map(scenarioText), ...disturbance(results)].join('\n\n');
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

/** One line a figure, with its target; columns are as wide as their content. */
function table(rows) {
  const lines = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((cells) => cells[column].length)));
  return lines.map((cells, index) => line(cells, widths, lines[index - 1])).join('\n');
}

function cellsOf({ of, figure, digits, median, values, target, met }) {
  const number = (value) => numberText(value, digits);
  const rounds = values.length === 1 ? '' : [...values].map(number).join(' · ');
  return [of, figure, number(median), rounds, targetText(target, number), verdict(met)];
}

function line(cells, widths, above) {
  const padded = cells.map((cell, column) => {
    // a case is named once, above its figures
    const shown = column === 0 && cell === above?.[0] ? '' : cell;
    return ALIGN_RIGHT.has(column) ? shown.padStart(widths[column]) : shown.padEnd(widths[column]);
  });
  return `  ${padded.join('  ')}`.trimEnd();
}

function numberText(value, digits) {
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en-US', format);
}

function targetText(target, number) {
  if (target === null) return '';
  return target.atLeast === undefined
    ? `≤ ${number(target.atMost)}`
    : `≥ ${number(target.atLeast)}`;
}

function verdict(met) {
  if (met === null) return '';
  return met ? 'met' : 'MISSED';
}

/** A warning if the computer was busy: a missed target then says nothing about the bridge. */
function disturbance(results) {
  const others = results.flatMap(({ rows }) => rows.filter(({ figure }) => figure === OTHERS));
  const most = Math.round(Math.max(0, ...others.flatMap(({ values }) => values)));
  if (most <= OTHERS_MATTER_PERCENT) return [];
  const whose = 'Others (a broker that has no line of its own among them)';
  return [
    `${whose} took up to ${most} % of a core meanwhile: better repeat it on a quiet machine.`,
  ];
}

function git(...args) {
  return spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim();
}
