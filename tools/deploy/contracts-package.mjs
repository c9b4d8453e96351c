import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { npm } from '../setup/dependencies.mjs';
import { LOCAL, ROOT, runTool } from '../setup/command.mjs';

const SOURCE = join(ROOT, 'packages/contracts');
const SCHEMAS = join(ROOT, 'docs/schemas');
const FOLDER = join(LOCAL, 'contracts');
const TYPES_OF_SCHEMAS = 'json-schema-to-typescript';
const INPUTS = ['work-order-list-message', 'work-order-message', 'downtime-reason-message'];
const TYPESCRIPT = join(ROOT, 'node_modules/typescript/bin/tsc');
const STRICT = ['--ignoreConfig', '--strict', '--module', 'nodenext', '--target', 'es2022'];

/** Compiles TypeScript as a subscriber does. */
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
  await cp(SCHEMAS, join(folder, 'schemas'), { recursive: true });
  const dist = ['--declaration', '--outDir', join(folder, 'dist'), '--rootDir', ROOT];
  await compile(join(SOURCE, 'index.ts'), ...dist);
  await writeFile(join(folder, 'dist/inputs.d.ts'), await typesOfInputs());
  const [command, ...args] = npm();
  const pack = [...args, 'pack', '--silent', '--pack-destination', FOLDER];
  const name = await runTool(command, pack, { cwd: folder });
  return join(FOLDER, name.trim());
}

/** Types of the messages that the bridge reads, from their JSON Schemas, each named after its schema's file. */
async function typesOfInputs() {
  const tools = join(FOLDER, 'tools');
  await mkdir(tools);
  await writeFile(join(tools, 'package.json'), '{ "private": true }');
  const [command, ...args] = npm();
  const install = ['install', '--no-audit', '--no-fund', `${TYPES_OF_SCHEMAS}@16.0.0`];
  await runTool(command, [...args, ...install], { cwd: tools });
  const entry = createRequire(join(tools, 'package.json')).resolve(TYPES_OF_SCHEMAS);
  const { compile: typesOf } = (await import(pathToFileURL(entry))).default;
  const names = await namesByTitle();
  const schema = { anyOf: INPUTS.map((name) => ({ $ref: `${name}.json` })) };
  return typesOf(schema, 'InputMessage', {
    cwd: SCHEMAS,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    bannerComment: '// Generated from the JSON Schemas of this package.',
    customName: ({ title }) => names.get(title),
  });
}

async function namesByTitle() {
  const names = new Map();
  for (const file of await readdir(SCHEMAS)) {
    const { title } = JSON.parse(await readFile(join(SCHEMAS, file), 'utf8'));
    names.set(
      title,
      basename(file, '.json').replace(/(?:^|-)(.)/g, (_, letter) => letter.toUpperCase()),
    );
  }
  return names;
}
