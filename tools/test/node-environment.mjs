// Jest's environment of Node, without what earlier files of tests leave behind in a worker.
import { AsyncLocalStorage } from 'node:async_hooks';
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

export default class NodeEnvironment extends TestEnvironment {
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
}
