import { LOADS, PROGRAMS } from './loads.mjs';

const PANELS = [
  { figure: 'messages a second', title: 'messages a second: more is better' },
  {
    figure: 'CPU a message with the start, µs',
    title: 'CPU a message with the start, µs: less is better',
  },
  { figure: 'highest RSS, MB', title: 'highest RSS, MB: less is better' },
];
/** Distinguishable with any colour vision, and in grey. */
const COLOURS = ['#0b6e4f', '#d98324', '#8a8f98'];
const [WIDTH, LEFT, RIGHT] = [760, 180, 90];
const [TOP, BAR, GAP, TITLE] = [56, 14, 10, 30];

/** An SVG of the figures of {@link ../scenarios/rivals.mjs}: a panel for each figure, with bars by load and program. */
export function chartOf(rows, { cores, node }) {
  const panelHeight = TITLE + LOADS.length * (PROGRAMS.length * BAR + GAP);
  const height = TOP + PANELS.length * panelHeight + 10;
  const how = `one run of each, ${cores} cores, Node ${node}`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="machine-bridge beside Parallel Consumer, ${how}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...PROGRAMS.map((name, at) => legend(name, at)),
    text(20, 42, `calls of 20 ms, 128 at a time; ${how}`),
    ...PANELS.flatMap((panel, at) => panelOf(rows, panel, TOP + at * panelHeight)),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function legend(name, at) {
  const x = 20 + at * 240;
  return `<rect x="${x}" y="10" width="12" height="12" fill="${COLOURS[at]}"/>${text(x + 18, 20, name)}`;
}

function panelOf(rows, { figure, title }, top) {
  const valueOf = (load, program) =>
    rows.find((row) => row.of === `${load}: ${program}` && row.figure === figure)?.median ?? 0;
  const all = LOADS.flatMap(({ of }) => PROGRAMS.map((program) => valueOf(of, program)));
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...all);
  const bars = LOADS.flatMap(({ of }, load) => {
    const y = top + TITLE + load * (PROGRAMS.length * BAR + GAP);
    const middle = y + (PROGRAMS.length * BAR) / 2 + 4;
    return [
      `<text x="${LEFT - 10}" y="${middle}" text-anchor="end" fill="#222">${of}</text>`,
      ...PROGRAMS.map((program, at) => bar(y + at * BAR, valueOf(of, program), scale, at)),
    ];
  });
  return [
    `<text x="${LEFT}" y="${top + 20}" font-weight="bold" fill="#222">${title}</text>`,
    ...bars,
  ];
}

function bar(y, value, scale, at) {
  const width = Math.round(value * scale);
  const label = Math.round(value).toLocaleString('en-US');
  return `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR - 2}" fill="${COLOURS[at]}"/>${text(LEFT + width + 6, y + BAR - 4, label)}`;
}

function text(x, y, words) {
  return `<text x="${x}" y="${y}" fill="#222">${words}</text>`;
}
