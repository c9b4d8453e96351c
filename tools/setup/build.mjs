import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runTool, step } from './command.mjs';

const DIST = join(ROOT, 'dist');
const STAMP = join(DIST, '.built-from');
/** Built by Vite, into a separate folder; nest compiles the rest. */
const PAGE = 'apps/terminal/page';
const BUILD_FILES = [
  '.swcrc',
  'nest-cli.json',
  'package-lock.json',
  'rolldown.config.mjs',
  'tsconfig.json',
];

/** Compiles apps and libs into `dist/`, unless `dist/` was made from exactly these sources. */
export async function buildApps() {
  const sources = await hashOfSources();
  if (existsSync(STAMP) && (await readFile(STAMP, 'utf8')) === sources) return;
  await step('building (nest build)', async () => {
    // the output of a deleted source would still be loaded
    await rm(DIST, { recursive: true, force: true });
    const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
    // one run compiles the folders named in nest-cli.json, that is every app and lib
    await runTool(process.execPath, [nest, 'build', 'bridge'], { cwd: ROOT });
  });
  await step('bundling (rolldown)', async () => {
    const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
    await runTool(process.execPath, [rolldown, '--config', 'rolldown.config.mjs'], { cwd: ROOT });
  });
  await step("building the terminal's page (vite build)", () => buildPage());
  await writeFile(STAMP, sources);
}

async function buildPage() {
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js');
  // with NODE_ENV=development, Vite would build a page for development
  const env = { ...process.env, NODE_ENV: 'production' };
  await runTool(process.execPath, [vite, 'build', PAGE], { cwd: ROOT, env });
}

async function hashOfSources() {
  const files = [...BUILD_FILES, ...(await sourceFiles('apps')), ...(await sourceFiles('libs'))];
  const hash = createHash('sha256').update(process.versions.node);
  for (const file of files) hash.update(`\n${file}\n`).update(await readFile(join(ROOT, file)));
  return hash.digest('hex');
}

async function sourceFiles(folder) {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !/[.-]spec\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort();
}
