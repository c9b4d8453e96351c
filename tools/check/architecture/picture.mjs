// The picture in docs/architecture.md: which folder imports from which.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const PAGE = 'docs/architecture.md';
const BEGIN = '<!-- picture: begin -->\n';
const END = '<!-- picture: end -->';
/** Nearly every folder imports these; their arrows would hide all others. */
const EVERYWHERE = new Set(['libs/clock', 'libs/config', 'libs/contracts', 'libs/logging']);

/** The page with the picture redrawn from `imports`; the same text if the picture is current. */
export function redrawn(root, imports) {
  const page = readFileSync(join(root, PAGE), 'utf8');
  const [head, rest] = splitAt(page, BEGIN);
  const [, tail] = splitAt(rest, END);
  const picture = draw(edgesOf(imports));
  return `${head}${BEGIN}\n\`\`\`mermaid\n${picture}\`\`\`\n\n${END}${tail}`;
}

export function isCurrent(root, page) {
  return readFileSync(join(root, PAGE), 'utf8') === page;
}

export function write(root, page) {
  writeFileSync(join(root, PAGE), page);
}

function splitAt(text, mark) {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`${PAGE} lacks the line ${mark.trim()}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

/** `apps/bridge/src/delivery` or `libs/kafka`; undefined for a file that is not drawn, such as an app's own wiring. */
function folderOf(file) {
  if (/^apps\/[^/]+\/src\/[^/]+$/.test(file)) return undefined;
  const [, bridge] = /^apps\/bridge\/src\/([^/]+)\//.exec(file) ?? [];
  if (bridge !== undefined) return `bridge/${bridge}`;
  const [folder] = /^(apps|libs)\/[^/]+(?=\/)/.exec(file) ?? [];
  return folder === undefined || EVERYWHERE.has(folder) ? undefined : folder;
}

/** The folders that each folder imports from. An arrow is left out if a longer path replaces it. */
function edgesOf(imports) {
  const edges = new Map();
  for (const [from, to] of imports.map((pair) => pair.map(folderOf))) {
    if (from === undefined) continue;
    const targets = edges.get(from) ?? new Set();
    edges.set(from, targets);
    if (to !== undefined && to !== from) targets.add(to);
  }
  const reaches = (from, to, seen = new Set()) =>
    [...(edges.get(from) ?? [])].some((next) => {
      if (next === to) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return reaches(next, to, seen);
    });
  return new Map(
    [...edges].map(([from, targets]) => [
      from,
      [...targets].filter((to) => ![...targets].some((via) => via !== to && reaches(via, to))),
    ]),
  );
}

function draw(edges) {
  const folders = [...new Set([...edges.keys(), ...[...edges.values()].flat()])].sort();
  const id = (folder) => folder.replace(/\W/g, '_');
  const node = (folder) => `    ${id(folder)}["${folder.split('/')[1]}"]\n`;
  const group = (title, prefix) =>
    `  subgraph ${title}\n${folders
      .filter((folder) => folder.startsWith(prefix))
      .map(node)
      .join('')}  end\n`;
  const arrows = [...edges]
    .flatMap(([from, targets]) => targets.map((to) => `  ${id(from)} --> ${id(to)}\n`))
    .sort();
  const groups =
    group('other_apps["apps"]', 'apps/') +
    group('bridge["apps/bridge/src"]', 'bridge/') +
    group('libs', 'libs/');
  return `flowchart TD\n${groups}${arrows.join('')}`;
}
