const BROWSER = '/test/browser/';
const CHAOS = '\\.chaos-spec\\.ts$';
const QUICK_CHAOS = '\\.quick\\.chaos-spec\\.ts$';
const LONG = '\\.long\\.(e2e-)?spec\\.ts$';

const run = (paths, ignored = [], needs = {}) => ({ paths, ignored, ...needs });
const kafka = { needsKafka: true };
const browser = run([BROWSER], [], { ...kafka, needsBrowser: true });

/**
 * The runs of Jest that a tier consists of: patterns of which a spec's path matches one of `paths` and none of
 * `ignored`. `.long.` in a name marks what would make `npm test` too long, `.quick.` the chaos that it includes.
 * Chaos kills processes by the dozen, so nothing that goes by the clock runs beside it.
 */
export const TIERS = {
  unit: [run(['\\.spec\\.ts$'], [LONG])],
  e2e: [run(['\\.e2e-spec\\.ts$', LONG], [BROWSER], kafka)],
  chaos: [run([CHAOS], [], kafka)],
  browser: [browser],
  /** What `npm test` runs. */
  quick: [run(['\\.(e2e-)?spec\\.ts$'], [LONG, BROWSER], kafka), run([QUICK_CHAOS], [], kafka)],
  /** What `npm test` leaves out. */
  rest: [run([LONG], [BROWSER], kafka), browser, run([CHAOS], [QUICK_CHAOS], kafka)],
};

export function jestArguments({ paths, ignored }) {
  return [
    ...paths.flatMap((pattern) => ['--testPathPatterns', pattern]),
    ...['/node_modules/', ...ignored].flatMap((pattern) => ['--testPathIgnorePatterns', pattern]),
  ];
}
