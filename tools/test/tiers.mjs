const BROWSER = '/test/browser/';
const CHAOS = '\\.chaos-spec\\.ts$';
const RANDOM = '\\.random\\.chaos-spec\\.ts$';
const QUICK_CHAOS = '\\.quick\\.chaos-spec\\.ts$';
const LONG = '\\.long\\.(e2e-)?spec\\.ts$';
const PROPERTIES = '\\.properties\\.spec\\.ts$';

const run = (paths, ignored = [], more = {}) => ({ paths, ignored, workers: 4, ...more });
const kafka = { needsKafka: true };
/** A page, its browser and their server take two cores. */
const browser = { ...kafka, needsBrowser: true, workers: 2 };
/** Each starts dozens of processes. */
const chaos = { ...kafka, workers: 3 };
/** The properties have ten times the cases of the unit tier. */
const deep = { ...kafka, env: { PROPERTY_DEPTH: '10' } };

/**
 * The runs of Jest in each tier. A spec belongs to a run if its path matches one of `paths` and none of `ignored`.
 * `.long.` in a name marks specs that would make `npm test` too long, `.quick.` the chaos that `npm test` includes.
 * Tests wait much of their time, so there are more workers than cores. A run with specs of several tiers leaves few
 * workers idle at its end. Specs that kill processes do not run beside specs that depend on the clock, except those of
 * `npm test`.
 */
export const TIERS = {
  unit: [run(['\\.spec\\.ts$'], [LONG], { workers: 3 })],
  e2e: [run(['\\.e2e-spec\\.ts$', LONG], [BROWSER], kafka)],
  chaos: [run([CHAOS], [RANDOM], chaos)],
  /** Random faults by a seed, for any time: a run can find faults but proves nothing. Each starts its own cluster. */
  random: [run([RANDOM], [], { needsBuild: true, workers: 1 })],
  browser: [run([BROWSER], [], browser)],
  /** The runs of `npm test`. */
  quick: [run(['\\.(e2e-)?spec\\.ts$', QUICK_CHAOS], [LONG, BROWSER], kafka)],
  /** The specs that `npm test` leaves out, and the properties again. */
  rest: [
    run([LONG, PROPERTIES], [BROWSER], deep),
    run([BROWSER], [], browser),
    run([CHAOS], [QUICK_CHAOS, RANDOM], chaos),
  ],
};

/**
 * @param asked further arguments of Jest. Leading patterns of paths select among the tier's files; a run may have no
 *   match.
 */
export function jestArguments({ paths, ignored, workers }, asked) {
  const firstOption = asked.findIndex((arg) => arg.startsWith('-'));
  const chosen = firstOption < 0 ? asked : asked.slice(0, firstOption);
  const choose = chosen.length === 0 ? '' : `^(?=.*(${chosen.join('|')})).*`;
  return [
    `--maxWorkers=${workers}`,
    // a run of the tier may have none of the requested paths
    ...(chosen.length > 0 ? ['--passWithNoTests'] : []),
    ...paths.flatMap((pattern) => ['--testPathPatterns', choose + pattern]),
    ...['/node_modules/', ...ignored].flatMap((pattern) => ['--testPathIgnorePatterns', pattern]),
    ...asked.slice(chosen.length),
  ];
}
