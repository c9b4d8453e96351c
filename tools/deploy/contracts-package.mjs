import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { npm } from '../setup/dependencies.mjs';
import { LOCAL, ROOT } from '../setup/root.mjs';
import { runTool } from '../setup/run-tool.mjs';

const SOURCE = join(ROOT, 'packages/contracts');
const FOLDER = join(LOCAL, 'contracts');
const TYPESCRIPT = join(ROOT, 'node_modules/typescript/bin/tsc');
const STRICT = ['--ignoreConfig', '--strict', '--module', 'nodenext', '--target', 'es2022'];

/** Compiles TypeScript as a subscriber would. */
export function compile(file, ...args) {
  const more = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  return runTool(process.execPath, [TYPESCRIPT, ...STRICT, ...more, ...args, file]);
}

/** Builds `@machine-bridge/contracts` and packs it. Yields the path of the archive. */
export async function packContracts() {
  const folder = join(FOLDER, 'package');
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const name of ['package.json', 'README.md'])
    await cp(join(SOURCE, name), join(folder, name));
  await cp(join(ROOT, 'LICENSE.md'), join(folder, 'LICENSE.md'));
  await cp(join(ROOT, 'docs/schemas'), join(folder, 'schemas'), { recursive: true });
  const dist = ['--declaration', '--outDir', join(folder, 'dist'), '--rootDir', ROOT];
  await compile(join(SOURCE, 'index.ts'), ...dist);
  const [command, ...args] = npm();
  const pack = [...args, 'pack', '--silent', '--pack-destination', FOLDER];
  const name = await runTool(command, pack, { cwd: folder });
  return join(FOLDER, name.trim());
}
