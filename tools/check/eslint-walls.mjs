// Architecture rules that are not about imports: which code may read the environment, the time, and start timers.
const ENVIRONMENT = 'Only libs/config reads the environment; take typed settings instead.';
const TIME =
  'Only libs/clock knows the time; take a Clock, or realDelayMs and realNowMs for real time.';

const environment = {
  properties: [{ object: 'process', property: 'env', message: ENVIRONMENT }],
  imports: [{ name: 'node:process' }, { name: 'process' }].map((path) => ({
    ...path,
    message: ENVIRONMENT,
  })),
  globals: [],
  syntax: [],
};

const time = {
  properties: [
    { object: 'Date', property: 'now', message: TIME },
    { object: 'performance', property: 'now', message: TIME },
    { object: 'globalThis', property: 'setTimeout', message: TIME },
    { object: 'globalThis', property: 'setInterval', message: TIME },
  ],
  imports: ['timers', 'timers/promises', 'perf_hooks'].flatMap((name) => [
    { name, message: TIME },
    { name: `node:${name}`, message: TIME },
  ]),
  globals: ['setTimeout', 'setInterval'].map((name) => ({ name, message: TIME })),
  syntax: [{ selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: TIME }],
};

const SPECS = ['**/*.spec.ts', '**/*.e2e-spec.ts', '**/*.chaos-spec.ts', 'libs/*/test/**'];
/** The terminal's page runs in a browser: it has its own clock instead of libs/clock, and uses timers directly. */
const PAGE = 'apps/terminal/page/**';
const PAGE_TIME = 'Only state/clock.ts knows the time in the page.';

const timeOfPage = {
  ...{ imports: [], globals: [] },
  properties: [
    { object: 'Date', property: 'now', message: PAGE_TIME },
    { object: 'performance', property: 'now', message: PAGE_TIME },
  ],
  syntax: [
    { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: PAGE_TIME },
  ],
};

/** Blocks of an ESLint configuration; a later block replaces the rules of an earlier one. */
export const eslintWalls = [
  {
    files: ['apps/**/*.ts', 'libs/**/*.ts'],
    ignores: [...SPECS, PAGE],
    rules: forbid(environment, time),
  },
  {
    files: [`${PAGE}/*.ts`, `${PAGE}/*.tsx`],
    ignores: [...SPECS, 'apps/terminal/page/src/state/clock.ts'],
    rules: forbid(timeOfPage),
  },
  { files: ['libs/config/**/*.ts'], ignores: SPECS, rules: forbid(time) },
  { files: ['libs/clock/**/*.ts'], ignores: SPECS, rules: forbid(environment) },
];

function forbid(...walls) {
  const all = (kind) => walls.flatMap((wall) => wall[kind]);
  const forbidAll = (entries) => [entries.length > 0 ? 2 : 0, ...entries];
  return {
    'no-restricted-properties': forbidAll(all('properties')),
    'no-restricted-imports': [2, { paths: all('imports') }],
    'no-restricted-globals': forbidAll(all('globals')),
    'no-restricted-syntax': forbidAll(all('syntax')),
  };
}
