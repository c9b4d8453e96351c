// Jest's order of files. Without the times of an earlier run, Jest orders files by size, and a file that takes minutes
// may come last.

/** Patterns of paths by tier, longest first. */
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

  /** Keeps nothing from one run to the next. */
  cacheResults() {}
}
