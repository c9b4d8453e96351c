// Jest's environment of Node, without what earlier files of tests leave behind in a worker, but for what they compiled.
import { AsyncLocalStorage } from 'node:async_hooks';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Until Node 24 each promise of the process passes through each storage that has ever been used, and Jest makes one for
 * each file: a worker that had run fifty of them spent a tenth of its time there.
 */
const used = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  used.add(this);
  return run.apply(this, args);
};

/**
 * What Jest compiles of CommonJS, its own files and packages: once in a worker, and not anew for each file of tests,
 * which took a sixth of the CPU of the unit tier.
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
      // whose error tells Jest more
      return compileFunction(source, parameters, options);
    }
    compiled.set(filename, file);
  }
  // that of the file of tests that runs
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

export default class NodeEnvironment extends TestEnvironment {
  async teardown() {
    await super.teardown();
    // which would keep all that the file of tests has loaded
    for (const file of compiled.values()) file.importModuleDynamically = undefined;
    for (const storage of used) storage.disable();
    used.clear();
  }
}
