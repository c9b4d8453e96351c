// The apps, each with what it imports, in a few files of dist/bundle/, see docs/decisions/0042-bundled-apps.md. What
// nest has compiled stays in dist/ beside them, but for main.js of each app, which leads to the bundle.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig } from 'rolldown';

const DIST = join(import.meta.dirname, 'dist');
const BUNDLE = join(DIST, 'bundle');
const COMPILED = /[\\/]dist[\\/](apps|libs)[\\/].+\.js$/;
const INSTALLED = /[\\/]node_modules[\\/]/;
const MAP_COMMENT = /\n\/\/# sourceMappingURL=.*\s*$/;
/** What V8 has compiled is kept for the next start, from Node 22 on, where the folder can be written: not in images. */
const MAIN = `import module from 'node:module';
import { fileURLToPath } from 'node:url';

module.enableCompileCache?.(fileURLToPath(new URL('../../../compile-cache', import.meta.url)));
await import('BUNDLED');
`;

const mainOf = (app) => `apps/${app}/src/main.js`;
const apps = readdirSync(join(DIST, 'apps')).filter((app) => existsSync(join(DIST, mainOf(app))));

export default defineConfig({
  input: Object.fromEntries(apps.map((app) => [app, join(DIST, mainOf(app))])),
  platform: 'node',
  // libs/kafkajs-patches replaces modules of it in Node's own cache
  external: /^kafkajs(\/|$)/,
  treeshake: false,
  // packages of Nest that are not installed, and eval in installed ones
  checks: { unresolvedImport: false, eval: false },
  plugins: [
    {
      name: 'apps',
      load: { filter: { id: COMPILED }, handler: loadCompiled },
      generateBundle: finishFiles,
    },
  ],
  output: {
    dir: DIST,
    entryFileNames: 'bundle/[name].js',
    chunkFileNames: 'bundle/[name].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    keepNames: true,
    // packages read what reflect-metadata and others have put in place before
    strictExecutionOrder: true,
    codeSplitting: { groups: [{ name: 'installed', test: INSTALLED, entriesAware: true }] },
  },
});

/** A module with its map back to TypeScript. What it finds by its own URL lies beside it, not in the bundle. */
function loadCompiled(id) {
  const way = relative(BUNDLE, id).replaceAll('\\', '/');
  const code = readFileSync(id, 'utf8')
    .replace(MAP_COMMENT, '')
    .replaceAll('import.meta.url', `new URL('${way}', import.meta.url).href`);
  return { code, map: readFileSync(`${id}.map`, 'utf8') };
}

function finishFiles(_, files) {
  for (const file of Object.values(files)) {
    const { fileName, name, type } = file;
    if (file.isEntry) {
      const source = MAIN.replace('BUNDLED', `../../../${fileName}`);
      this.emitFile({ type: 'asset', fileName: mainOf(name), source });
    }
    // Node reads the map of a file as it loads it, and keeps it: 5 MB of what nobody here debugs
    if (!fileName.startsWith('bundle/installed')) continue;
    if (type === 'chunk') file.code = file.code.replace(MAP_COMMENT, '\n');
    else delete files[fileName];
  }
}
