// Jest's Node environment, without leftovers of earlier test files in a worker, except for compiled code.
import { AsyncLocalStorage } from 'node:async_hooks';
import { rmSync } from 'node:fs';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Until Node 24, each promise of the process passes through each storage that was ever used, and Jest makes one for
 * each file. A worker that had run fifty files spent a tenth of its time there.
 */
const used = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  used.add(this);
  return run.apply(this, args);
};

/**
 * Compiled CommonJS of Jest and of packages, once in a worker. Compiling it for each test file took a sixth of the CPU
 * of the unit tier.
 */
const compiled = new Map();
const { compileFunction } = vm;
vm.compileFunction = (source, parameters, options) => {
  const { filename, importModuleDynamically, parsingContext } = options;
  let file = compiled.get(filename);
  if (file?.source !== source) {
    try {
      file = { source, script: compile(source, parameters, filename) };
    } catch {
      // its error tells Jest more
      return compileFunction(source, parameters, options);
    }
    compiled.set(filename, file);
  }
  // the import function of the test file that runs
  file.importModuleDynamically = importModuleDynamically;
  return file.script.runInContext(parsingContext);
};

function compile(source, parameters, filename) {
  const head = `(function (${parameters}) {`;
  return new vm.Script(`${head}${source}\n})`, {
    filename,
    columnOffset: -head.length,
    importModuleDynamically: (...args) => compiled.get(filename).importModuleDynamically(...args),
  });
}

/**
 * Compiled ES modules, of which V8 keeps nothing from one test file to the next. Without those that import at run time:
 * in Node 20, a module from the cache has no import function.
 */
const compiledModules = new Map();
vm.SourceTextModule = class extends vm.SourceTextModule {
  constructor(source, options) {
    const { identifier } = options;
    const known = compiledModules.get(identifier);
    if (known?.source === source) {
      try {
        super(source, { ...options, cachedData: known.cachedData });
        return;
      } catch {
        // a test has changed V8's flags, or there is an error, of which Jest tells
      }
    }
    super(source, options);
    if (source.includes('import(')) return;
    compiledModules.set(identifier, { source, cachedData: this.createCachedData() });
  }
};

export default class NodeEnvironment extends TestEnvironment {
  async teardown() {
    // after the hooks of the test file, which end the users of the files
    for (const folder of this.global.temporaryFolders ?? [])
      rmSync(folder, { recursive: true, force: true });
    await super.teardown();
    // a reference would keep all modules of the test file in memory
    for (const file of compiled.values()) file.importModuleDynamically = undefined;
    for (const storage of used) storage.disable();
    used.clear();
  }
}
