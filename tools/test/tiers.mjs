const BROWSER = '/test/browser/';
const CHAOS = '\\.chaos-spec\\.ts$';
const QUICK_CHAOS = '\\.quick\\.chaos-spec\\.ts$';
const LONG = '\\.long\\.(e2e-)?spec\\.ts$';

const run = (paths, ignored = [], more = {}) => ({ paths, ignored, workers: 3, ...more });
const kafka = { needsKafka: true };
const browser = run([BROWSER], [], { ...kafka, needsBrowser: true, workers: 2 });
/** The properties once more, each with ten times the cases of the unit tier. */
const deep = run(['\\.properties\\.spec\\.ts$'], [], { env: { PROPERTY_DEPTH: '10' } });
/** Each starts processes by the dozen. */
const chaos = { ...kafka, workers: 2 };

/**
 * The runs of Jest that a tier consists of: patterns of which a spec's path matches one of `paths` and none of
 * `ignored`. `.long.` in a name marks what would make `npm test` too long, `.quick.` the chaos that it includes.
 * Much of a test is waiting, so there are more workers than cores; nothing that goes by the clock runs beside chaos.
 */
export const TIERS = {
  unit: [run(['\\.spec\\.ts$'], [LONG])],
  e2e: [run(['\\.e2e-spec\\.ts$', LONG], [BROWSER], kafka)],
  chaos: [run([CHAOS], [], chaos)],
  browser: [browser],
  /** What `npm test` runs. */
  quick: [run(['\\.(e2e-)?spec\\.ts$'], [LONG, BROWSER], kafka), run([QUICK_CHAOS], [], chaos)],
  /** What `npm test` leaves out, and `deep`. */
  rest: [run([LONG], [BROWSER], kafka), deep, browser, run([CHAOS], [QUICK_CHAOS], chaos)],
};

/** @param asked further arguments of Jest; patterns of paths that come first choose among the tier's files */
export function jestArguments({ paths, ignored, workers }, asked) {
  const firstOption = asked.findIndex((arg) => arg.startsWith('-'));
  const chosen = firstOption < 0 ? asked : asked.slice(0, firstOption);
  const choose = chosen.length === 0 ? '' : `^(?=.*(${chosen.join('|')})).*`;
  return [
    `--maxWorkers=${workers}`,
    ...paths.flatMap((pattern) => ['--testPathPatterns', choose + pattern]),
    ...['/node_modules/', ...ignored].flatMap((pattern) => ['--testPathIgnorePatterns', pattern]),
    ...asked.slice(chosen.length),
  ];
}
