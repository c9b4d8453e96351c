// Jest's runtime, which reads a file of a package, and finds where an import leads, once in a worker. Jest does so again
// for each test file. It takes a class of a CommonJS module.
const { default: JestRuntime } = require('jest-runtime');

/** Packages do not change while tests run, sources may: in watch mode a worker lives longer than they. */
const PACKAGES = /\/(node_modules|\.local\/test-packages)\//;

/** What is known of files by path, for one test file; of packages, for all. */
class ByPath extends Map {
  constructor(ofPackages, own = []) {
    super();
    this.ofPackages = ofPackages;
    for (const [path, known] of own) this.set(path, known);
  }

  get(path) {
    return super.get(path) ?? this.ofPackages.get(path);
  }

  set(path, known) {
    if (PACKAGES.test(path)) this.ofPackages.set(path, known);
    else super.set(path, known);
    return this;
  }

  delete(path) {
    return this.ofPackages.delete(path) || super.delete(path);
  }
}

const textsOfPackages = new Map();
const exportsOfPackages = new Map();
const resolvers = new WeakSet();

/** A resolver lives as long as there are the same files. */
function keepPaths(resolver) {
  if (resolvers.has(resolver)) return;
  resolvers.add(resolver);
  const resolve = resolver.resolveModuleAsync.bind(resolver);
  const paths = new Map();
  resolver.resolveModuleAsync = async (from, specifier, options) => {
    const key = [from, specifier, ...(options?.conditions ?? [])].join('\0');
    const known = paths.get(key);
    if (known !== undefined) return known;
    const path = await resolve(from, specifier, options);
    paths.set(key, path);
    return path;
  };
}

module.exports = class Runtime extends JestRuntime {
  constructor(config, environment, resolver, transformer, texts, ...others) {
    keepPaths(resolver);
    const ownTexts = new ByPath(textsOfPackages, texts);
    super(config, environment, resolver, transformer, ownTexts, ...others);
    this.cjsExportsCache.cache = new ByPath(exportsOfPackages);
  }
};
