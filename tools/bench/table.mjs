const HEAD = ['case', 'figure', 'median', 'rounds', 'target', ''];
const ALIGN_RIGHT = new Set([2, 3, 4]);

/** A figure a line, its target beside it; columns are as wide as their content. */
export function table(rows) {
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
