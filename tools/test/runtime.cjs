// Jest's runtime, which reads a file of a package once in a worker. Jest reads it again for each test file. It takes a
// class of a CommonJS module.
const { default: JestRuntime } = require('jest-runtime');

/** Packages do not change while tests run, sources may: in watch mode a worker lives longer than they. */
const PACKAGES = /\/(node_modules|\.local\/test-packages)\//;
const textsOfPackages = new Map();

/** The texts of files by path, for one test file. */
class Texts extends Map {
  get(path) {
    return super.get(path) ?? textsOfPackages.get(path);
  }

  set(path, text) {
    if (PACKAGES.test(path)) textsOfPackages.set(path, text);
    else super.set(path, text);
    return this;
  }
}

module.exports = class Runtime extends JestRuntime {
  constructor(config, environment, resolver, transformer, texts, ...others) {
    super(config, environment, resolver, transformer, new Texts(texts), ...others);
  }
};
