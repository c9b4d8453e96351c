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

/**
 * Replacements for modules of packages, by their place in node_modules. They lack what no app uses: undici's fetch,
 * WebSocket and mocks, axios's own adapters and forms, validation and serialisation by JSON schemas in Fastify. Loading
 * all that took a fifth of the CPU of loading the bridge.
 */
const LEAN = {
  'undici/index.js': () => `
const Dispatcher = require('./lib/dispatcher/dispatcher');
Object.assign(Dispatcher.prototype, require('./lib/api'));
module.exports = {
  Client: require('./lib/dispatcher/client'),
  Pool: require('./lib/dispatcher/pool'),
  buildConnector: require('./lib/core/connect'),
  errors: require('./lib/core/errors'),
};`,
  'axios/lib/adapters/adapters.js': () =>
    'export default { adapters: {}, getAdapter: (adapter) => adapter };',
  'axios/lib/platform/node/classes/FormData.js': () => 'export default null;',
  // to look at this global loads Node's own undici
  'axios/lib/utils.js': (code) => replaced(code, "typeof G.FormData !== 'undefined'", 'false'),
  '@fastify/ajv-compiler/index.js': leftOut,
  '@fastify/fast-json-stringify-compiler/index.js': leftOut,
};

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
      name: 'lean',
      load: { filter: { id: INSTALLED }, handler: loadLean },
      generateBundle: requireLean,
    },
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

function placeOf(id) {
  return id.replaceAll('\\', '/').split('/node_modules/').at(-1);
}

function loadLean(id) {
  return LEAN[placeOf(id)]?.(readFileSync(id, 'utf8'));
}

/** Another version of a package may have another place for a module: then all of it would be loaded again. */
function requireLean() {
  const places = new Set([...this.getModuleIds()].map(placeOf));
  const packages = new Set([...places].map(packageOf));
  // images have one app, which may do without some of the packages
  const absent = Object.keys(LEAN).filter(
    (place) => packages.has(packageOf(place)) && !places.has(place),
  );
  if (absent.length > 0) throw new Error(`not in the bundle, see LEAN: ${absent.join(', ')}`);
}

function packageOf(place) {
  return place.split('/', place.startsWith('@') ? 2 : 1).join('/');
}

function replaced(code, text, replacement) {
  if (!code.includes(text)) throw new Error(`a module of LEAN has no ${text}`);
  return code.replace(text, replacement);
}

/** For a package that exports a factory of factories, and is called only with the second. */
function leftOut() {
  const why = 'the bundle has no JSON schemas for routes, see rolldown.config.mjs';
  return `module.exports = () => () => { throw new Error('${why}'); };`;
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
