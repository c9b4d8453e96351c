import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const LINK = /(?<!!)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g;
const IMAGE = /!\[[^\]]*\]\(([^)\s]+)\)/g;
const PATH_IN_CODE = /`((?:apps|libs|test|tools|docs)\/[\w./-]+)`/g;

const documents = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((document) => existsSync(join(ROOT, document)));

/** Without what stands between fences, where brackets mean something else. */
function proseOf(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8').replace(/^```[^]*?^```/gm, '');
}

/** As GitHub makes them of headings. */
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
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|mjs)$/.test(file) && !/[.-]spec\.ts$/.test(file))
    .map((file) => join(path, file));
}

function isDeclaredIn(path: string, name: string): boolean {
  const declaration = new RegExp(`\\b(class|function|const|interface|type) ${name}\\b`);
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

  it.each(documents)('and so do the paths that stand in code: %s', (document) => {
    const paths = [...proseOf(document).matchAll(PATH_IN_CODE)].map(([, path = '']) => path);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
