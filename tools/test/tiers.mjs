const BROWSER = '/test/browser/';
const CHAOS = '\\.chaos-spec\\.ts$';
const RANDOM = '\\.random\\.chaos-spec\\.ts$';
const QUICK_CHAOS = '\\.quick\\.chaos-spec\\.ts$';
const LONG = '\\.long\\.(e2e-)?spec\\.ts$';
const PROPERTIES = '\\.properties\\.spec\\.ts$';

const run = (paths, ignored = [], more = {}) => ({ paths, ignored, workers: 4, ...more });
const kafka = { needsKafka: true };
/** A page, its browser and their server take two cores by themselves. */
const browser = { ...kafka, needsBrowser: true, workers: 2 };
/** Each starts processes by the dozen. */
const chaos = { ...kafka, workers: 3 };
/** The properties have ten times the cases of the unit tier. */
const deep = { ...kafka, env: { PROPERTY_DEPTH: '10' } };

/**
 * The runs of Jest that a tier consists of: patterns of which a spec's path matches one of `paths` and none of
 * `ignored`. `.long.` in a name marks what would make `npm test` too long, `.quick.` the chaos that it includes.
 * Much of a test is waiting, so there are more workers than cores; with specs of several tiers in one run, few of them
 * have nothing to do at its end. No process is killed beside what goes by the clock, but for that of `npm test`.
 */
export const TIERS = {
  unit: [run(['\\.spec\\.ts$'], [LONG], { workers: 3 })],
  e2e: [run(['\\.e2e-spec\\.ts$', LONG], [BROWSER], kafka)],
  chaos: [run([CHAOS], [RANDOM], chaos)],
  /** Goes by a seed, and on for as long as one likes: a finding, and no proof. Each starts a cluster of its own. */
  random: [run([RANDOM], [], { needsBuild: true, workers: 1 })],
  browser: [run([BROWSER], [], browser)],
  /** What `npm test` runs. */
  quick: [run(['\\.(e2e-)?spec\\.ts$', QUICK_CHAOS], [LONG, BROWSER], kafka)],
  /** What `npm test` leaves out, and the properties once more. */
  rest: [
    run([LONG, PROPERTIES], [BROWSER], deep),
    run([BROWSER], [], browser),
    run([CHAOS], [QUICK_CHAOS, RANDOM], chaos),
  ],
};

/**
 * @param asked further arguments of Jest; patterns of paths that come first choose among the tier's files, and need not
 *   name one of every run
 */
export function jestArguments({ paths, ignored, workers }, asked) {
  const firstOption = asked.findIndex((arg) => arg.startsWith('-'));
  const chosen = firstOption < 0 ? asked : asked.slice(0, firstOption);
  const choose = chosen.length === 0 ? '' : `^(?=.*(${chosen.join('|')})).*`;
  return [
    `--maxWorkers=${workers}`,
    // of the paths that were asked for, not every tier has a test
    ...(chosen.length > 0 ? ['--passWithNoTests'] : []),
    ...paths.flatMap((pattern) => ['--testPathPatterns', choose + pattern]),
    ...['/node_modules/', ...ignored].flatMap((pattern) => ['--testPathIgnorePatterns', pattern]),
    ...asked.slice(chosen.length),
  ];
}
