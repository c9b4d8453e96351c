import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const LINK = /(?<!!)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;
const IMAGE = /!\[[^\]]*\]\(([^)\s]+)\)/g;
const PATH_IN_CODE = /`((?:apps|libs|test|tools|docs)\/[\w./-]+)`/g;

/** Generated folders. The project may be a copy without Git. */
const MADE = new Set(['.git', '.local', 'coverage', 'dist', 'node_modules']);

const documents = readdirSync(ROOT)
  .filter((name) => !MADE.has(name))
  .flatMap((name) => filesUnder(name))
  .filter((path) => path.endsWith('.md'));

function filesUnder(path: string): string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' }).map((file) =>
    join(path, file),
  );
}

/** The text outside of code blocks, in which brackets mean something else. */
function proseOf(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8').replace(/^```[^]*?^```/gm, '');
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(document: string): Set<string> {
  const headings = [...proseOf(document).matchAll(/^#{1,6} (.+)$/gm)].map(([, text = '']) => text);
  return new Set(
    headings.map((text) =>
      text
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function sourcesUnder(path: string): string[] {
  return filesUnder(relative(ROOT, path))
    .filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !/[.-]spec\.ts$/.test(file))
    .map((file) => join(ROOT, file));
}

function isDeclaredIn(path: string, name: string): boolean {
  const declaration = new RegExp(`\\b(class|function\\*?|const|interface|type) ${name}\\b`);
  return sourcesUnder(path).some((file) => declaration.test(readFileSync(file, 'utf8')));
}

function faultOf(document: string, text: string, target: string): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? join(ROOT, document) : resolve(ROOT, dirname(document), file);
  if (!existsSync(path)) return `${target} is not there`;
  if (anchor !== undefined && !anchorsOf(relative(ROOT, path)).has(anchor)) {
    return `${target} is no heading`;
  }
  const [, name] = /^`([A-Za-z]\w*)`$/.exec(text) ?? [];
  const isCode = /^(apps|libs|test|tools)\//.test(relative(ROOT, path));
  if (name !== undefined && isCode && !isDeclaredIn(path, name)) {
    return `${name} is not declared in ${target}`;
  }
  return undefined;
}

describe('the links of the documents', () => {
  it.each(documents)('lead somewhere: %s', (document) => {
    const prose = proseOf(document);
    const links = [...prose.matchAll(LINK)].map(([, text = '', target = '']) =>
      faultOf(document, text, target),
    );
    const images = [...prose.matchAll(IMAGE)].map(([, target = '']) =>
      faultOf(document, '', target),
    );
    expect([...links, ...images].filter((fault) => fault !== undefined)).toEqual([]);
  });

  it.each(documents)('and so do the paths in code: %s', (document) => {
    const paths = [...proseOf(document).matchAll(PATH_IN_CODE)].map(([, path = '']) => path);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
