// Jest's order of files. Without times of an earlier run it goes by their size, and what takes minutes may come last.

/** By what a path says of its tier, longest first. */
const KINDS = [/\.chaos-spec\./, /\/test\/browser\//, /\.long\./, /\.e2e-spec\./, /\.properties\./];
const kindOf = ({ path }) => {
  const kind = KINDS.findIndex((pattern) => pattern.test(path));
  return kind < 0 ? KINDS.length : kind;
};
const sizeOf = ({ path, context }) => context.hasteFS.getSize(path) ?? 0;

export default class LongestFirst {
  sort(tests) {
    return [...tests].sort((a, b) => kindOf(a) - kindOf(b) || sizeOf(b) - sizeOf(a));
  }

  /** Nothing is kept from one run to the next. */
  cacheResults() {}
}
