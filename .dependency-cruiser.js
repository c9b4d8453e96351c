// The architecture rules; test/walls/ shows that each of them holds.
const CLIENT = (names) => `(^|/)node_modules/(${names})/|^(${names})$`;
const PURE = '^libs/(contracts|delivery|erp-formats|order-ledger)/';
const SPEC = '\\.(e2e-|chaos-)?spec\\.ts$|^libs/[^/]+/test/';

/** @type {import('dependency-cruiser').IForbiddenRuleType[]} */
const forbidden = [
  {
    name: 'no-circular',
    comment:
      'Two files that import each other are a TDZ error in ESM as soon as both are injected.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-unresolvable',
    comment: 'An import that leads nowhere fails only when the file is loaded.',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'libs-do-not-import-apps',
    comment: 'A lib that knows who uses it cannot be used by anyone else.',
    from: { path: '^libs/' },
    to: { path: '^(apps|test|tools)/' },
  },
  {
    name: 'apps-do-not-import-each-other',
    comment:
      'Apps meet over HTTP and Kafka alone, as the bridge and the real service do; what two of them need is a lib.',
    from: { path: '^apps/([^/]+)/' },
    to: { path: '^apps/', pathNot: '^apps/$1/' },
  },
  {
    name: 'apps-do-not-import-tests',
    comment: 'What only tests need is not there in production.',
    from: { path: '^apps/' },
    to: { path: '^(test|tools)/' },
  },
  {
    name: 'tests-import-apps-through-index',
    comment: 'A test that reaches into an app breaks with every change inside it.',
    from: { path: '^test/' },
    to: { path: '^apps/', pathNot: '^apps/[^/]+/src/index\\.ts$' },
  },
  {
    name: 'server-does-not-know-the-page',
    comment: 'The server hands out built files; the page is one of its clients.',
    from: { path: '^apps/terminal/src/' },
    to: { path: '^apps/terminal/page/' },
  },
  {
    name: 'folders-only-through-index',
    comment:
      'A folder of the bridge shows what others may use in its index.ts, and their specs in testing/; the rest is its own.',
    from: { path: '^apps/bridge/src/([^/]+)/' },
    to: {
      path: '^apps/bridge/src/[^/]+/',
      pathNot: ['^apps/bridge/src/$1/', '^apps/bridge/src/[^/]+/(index\\.ts$|testing/)'],
    },
  },
  {
    name: 'look-ups-do-not-know-commands',
    comment: 'What reads from the service works without the delivery of commands to it.',
    from: {
      path: '^apps/bridge/src/(machine-directory|machine-states|work-orders/equipment)/',
      pathNot: SPEC,
    },
    to: { path: '^apps/bridge/src/delivery/' },
  },
  {
    name: 'sandbox-does-not-know-the-client',
    comment: 'The sandbox judges the client; with shared code both would share the same mistakes.',
    from: { path: '^apps/sandbox/' },
    to: { path: '^libs/(access-tokens|cloud-client|http-calls)/' },
  },
  {
    name: 'terminal-knows-topics-alone',
    comment:
      'The terminal is a subscriber and a producer like any other: it never calls the service.',
    from: { path: '^apps/terminal/src/' },
    to: {
      path: '^libs/',
      pathNot: '^libs/(clock|config|contracts|http-api|kafka|logging|program)/',
    },
  },
  {
    name: 'ingest-does-not-know-the-service',
    comment:
      "What is posted goes to topics, read as the bridge will read it; the service is the bridge's alone.",
    from: { path: '^apps/ingest/src/' },
    to: { path: '^libs/(access-tokens|cloud-client|kafkajs-patches|tracing)/' },
  },
  {
    name: 'ingest-calls-in-callbacks-alone',
    comment: 'Requests are answered by what Kafka says; only outcomes are sent on by HTTP.',
    from: { path: '^apps/ingest/src/', pathNot: '^apps/ingest/src/callbacks/' },
    to: { path: '^libs/(delivery|http-calls)/' },
  },
  {
    name: 'page-knows-the-api-alone',
    comment:
      'What the page is built of goes to tablets: of the server, the types of what they say.',
    from: { path: '^apps/terminal/page/' },
    to: { path: '^(apps|libs|test|tools)/', pathNot: '^apps/terminal/(page/|src/api/index\\.ts$)' },
  },
  {
    name: 'kafkajs-only-in-kafka',
    comment: 'Its quirks are handled in one place, which can be replaced as one.',
    from: { path: '^(apps|libs)/', pathNot: '^libs/(kafka|kafkajs-patches)/' },
    to: { path: `${CLIENT('kafkajs|kafkajs-snappy')}|^libs/kafkajs-patches/` },
  },
  {
    name: 'kafkajs-with-its-patches',
    comment:
      'Loaded before it is patched it would keep modules of its own; an import of a type may load it as well.',
    from: {
      path: '^(libs|test)/',
      pathNot: ['^libs/kafkajs-patches/src/index\\.ts$', '^test/support/stock-kafkajs\\.ts$'],
    },
    to: { path: CLIENT('kafkajs'), pathNot: 'node_modules/kafkajs/(src/|package\\.json$)' },
  },
  {
    name: 'tests-talk-to-kafka-with-a-client-of-their-own',
    comment:
      "What writes and reads beside the bridge must not share its mistakes: the stock client (test/support/stock-kafkajs.ts) or Java's.",
    from: { path: '^test/' },
    to: { path: '^libs/kafkajs-patches/' },
  },
  {
    name: 'test-support-without-the-kafka-lib',
    comment: 'A test may try a part of libs/kafka; its helpers do without.',
    from: { path: '^test/support/' },
    to: { path: '^libs/kafka/' },
  },
  {
    name: 'axios-only-in-http-calls',
    comment: 'There each request has a deadline, and every failure is a value.',
    from: { path: '^(apps|libs)/', pathNot: '^libs/http-calls/' },
    to: { path: CLIENT('axios') },
  },
  {
    name: 'undici-only-in-http-calls',
    comment: 'Requests have bounds, deadlines and secrets that stay secret, in one place alone.',
    from: { path: '^(apps|libs)/', pathNot: '^libs/http-calls/' },
    to: { path: CLIENT('undici') },
  },
  {
    name: 'opentelemetry-only-where-it-is-loaded',
    comment: 'Its SDK is loaded where an exporter is configured, and nowhere else.',
    from: { path: '^(apps|libs)/', pathNot: '^libs/tracing/src/open-telemetry\\.ts$' },
    to: { path: CLIENT('@opentelemetry/[^/]+') },
  },
  {
    name: 'opentelemetry-is-loaded-on-demand',
    comment: 'A static import of it would load the SDK into every process.',
    from: { path: '^libs/tracing/src/', pathNot: SPEC },
    to: { path: '^libs/tracing/src/open-telemetry\\.ts$', dependencyTypesNot: ['dynamic-import'] },
  },
  {
    name: 'pure-libs-without-nest',
    comment: 'What decides is plain data in and out: no container, no life cycle.',
    from: { path: PURE, pathNot: SPEC },
    to: { path: CLIENT('@nestjs/[^/]+') },
  },
  {
    name: 'pure-libs-without-io',
    comment: 'What decides neither reads nor sends; of Node it may use computation alone.',
    from: { path: PURE, pathNot: SPEC },
    to: { dependencyTypes: ['core'], pathNot: '^(node:)?(buffer|util|crypto)$' },
  },
  {
    name: 'pure-libs-without-clients',
    comment: 'Messaging, HTTP and logging are effects; they belong to the edge.',
    from: { path: PURE, pathNot: SPEC },
    to: { path: CLIENT('pino|prom-client|rxjs|kafkajs|axios|undici') },
  },
  {
    name: 'contracts-is-a-leaf',
    comment: 'Messages and events are what all others build on.',
    from: { path: '^libs/contracts/' },
    to: { path: '^libs/', pathNot: '^libs/contracts/' },
  },
  {
    name: 'delivery-knows-contracts-alone',
    comment: 'Lanes and back-off are the same whatever is delivered and however time passes.',
    from: { path: '^libs/delivery/', pathNot: SPEC },
    to: { path: '^libs/', pathNot: '^libs/(delivery|contracts)/' },
  },
  {
    name: 'erp-formats-knows-contracts-alone',
    comment: 'A foreign document in, order messages out, and nothing beside.',
    from: { path: '^libs/erp-formats/', pathNot: SPEC },
    to: { path: '^libs/', pathNot: '^libs/(erp-formats|contracts)/' },
  },
  {
    name: 'order-ledger-knows-contracts-alone',
    comment: 'What follows from orders is tried without Kafka, Nest or a service.',
    from: { path: '^libs/order-ledger/', pathNot: SPEC },
    to: { path: '^libs/', pathNot: '^libs/(order-ledger|contracts)/' },
  },
  {
    name: 'libs-only-through-index',
    comment: 'The inside of a lib is free to change.',
    from: { pathNot: '^(libs/|test/|apps/.*\\.spec\\.ts$)' },
    to: { path: '^libs/', pathNot: '^libs/[^/]+/src/index\\.ts$' },
  },
  {
    name: 'libs-only-through-index-in-specs',
    comment: 'What serves the specs of a lib may serve those of an app, and tests.',
    from: { path: '^(test/|apps/.*\\.spec\\.ts$)' },
    to: { path: '^libs/', pathNot: '^libs/[^/]+/(src/index\\.ts$|test/)' },
  },
  {
    name: 'libs-only-through-index-among-libs',
    comment: 'The inside of a lib is free to change, for its neighbours too.',
    from: { path: '^libs/([^/]+)/' },
    to: { path: '^libs/', pathNot: ['^libs/$1/', '^libs/[^/]+/(src/index\\.ts$|test/)'] },
  },
];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: forbidden.map((rule) => ({ severity: 'error', ...rule })),
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: '(^|/)node_modules/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['bridge-src', 'import', 'require', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.mjs', '.d.mts', '.js', '.json'],
    },
  },
};
