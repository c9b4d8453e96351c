// Bundles packages of many files into a few each, because Jest links and runs every file of every package again for
// each spec.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOCAL, ROOT } from '../setup/command.mjs';

/**
 * Packages that are installed in one version: all importers get the bundle, also other packages. kafkajs is not
 * bundled, because libs/kafkajs-patches replaces its modules.
 */
const PACKAGES = [
  ...['@nestjs/common', '@nestjs/core', '@nestjs/core/helpers/execution-context-host.js'],
  ...['@nestjs/microservices', '@nestjs/platform-fastify', '@nestjs/swagger'],
  ...['axios', 'class-transformer', 'class-validator', 'csv-parse/sync', 'fast-check'],
  ...['prom-client', 'reflect-metadata', 'rxjs', 'undici', 'yaml'],
];
const FOLDER = join(LOCAL, 'test-packages');
/**
 * The folder of the bundles. Modules import short files beside it, because Jest parses an imported file of CommonJS to
 * find its exports, for each spec again.
 */
const CODE = 'code';
const ENTRY = 'entry:';

/** Jest's `moduleNameMapper` for these packages. Bundles them again if the installed packages have changed. */
export async function bundledPackages() {
  const hash = createHash('sha256').update(await readFile(join(ROOT, 'package-lock.json')));
  hash.update(await readFile(fileURLToPath(import.meta.url)));
  const folder = join(FOLDER, hash.digest('hex').slice(0, 16));
  if (!existsSync(folder)) await bundleInto(folder);
  return Object.fromEntries(
    PACKAGES.map((name) => [`^${name.replaceAll('.', '\\.')}$`, join(folder, fileOf(name))]),
  );
}

const fileOf = (name) => `${name.replace(/\.js$/, '').replaceAll(/[@/]/g, '_')}.cjs`;

async function bundleInto(folder) {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: Object.fromEntries(
      PACKAGES.map((name) => [fileOf(name).slice(0, -'.cjs'.length), `${ENTRY}${name}`]),
    ),
    platform: 'node',
    external: /^kafkajs(\/|$)/,
    treeshake: false,
    checks: { unresolvedImport: false, eval: false },
    plugins: [{ name: 'entries', resolveId, load }],
  });
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const made = await mkdtemp(join(LOCAL, 'test-packages-'));
  await bundle.write({
    dir: made,
    // node-environment.mjs compiles it once for all files of tests
    format: 'cjs',
    exports: 'named',
    entryFileNames: `${CODE}/[name].cjs`,
    chunkFileNames: `${CODE}/[name]-[hash].cjs`,
    keepNames: true,
    strictExecutionOrder: true,
  });
  for (const file of PACKAGES.map(fileOf)) {
    await writeFile(
      join(made, file),
      `const load = require;\nmodule.exports = load('./${CODE}/${file}');\n`,
    );
  }
  // another Jest may have been faster
  await rename(made, folder).catch(() => rm(made, { recursive: true, force: true }));
}

function resolveId(id) {
  return id.startsWith(ENTRY) ? `${join(ROOT, id.slice(ENTRY.length))}.entry.mjs` : undefined;
}

/** Silences logs, except where a test captures them: libs/logging/test/captured-logs.ts. */
const SILENCE = {
  '@nestjs/common': "import { Logger } from '@nestjs/common';\nLogger.overrideLogger(false);\n",
};

/** Runs a CommonJS package to learn the names that it exports. */
async function load(id) {
  const [, name] = id.match(/^(.+)\.entry\.mjs$/) ?? [];
  if (name === undefined) return undefined;
  const specifier = name.slice(ROOT.length + 1);
  const exported = await import(specifier);
  const isCommonJs = createRequire(import.meta.url)(specifier) === exported.default;
  const from = `from ${JSON.stringify(specifier)};\n`;
  if (!isCommonJs) {
    return `export * ${from}${'default' in exported ? `export { default } ${from}` : ''}${SILENCE[specifier] ?? ''}`;
  }
  const names = Object.keys(exported).filter((key) => !['default', 'module.exports'].includes(key));
  return `import whole ${from}export default whole;\nexport const { ${names.join(', ')} } = whole;\n`;
}
