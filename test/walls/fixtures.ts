/** A tree of source files that breaks one rule of .dependency-cruiser.js, and no other. */
export interface BrokenWall {
  rule: string;
  files: Record<string, string>;
}

const INDEX = 'export const index = 1;\n';
const imports = (...paths: string[]) => paths.map((path) => `import '${path}';\n`).join('');

export const BROKEN_WALLS: BrokenWall[] = [
  {
    rule: 'no-circular',
    files: { 'libs/clock/src/a.ts': imports('./b.js'), 'libs/clock/src/b.ts': imports('./a.js') },
  },
  { rule: 'no-unresolvable', files: { 'libs/clock/src/index.ts': imports('./nowhere.js') } },
  {
    rule: 'libs-do-not-import-apps',
    files: {
      'libs/clock/src/index.ts': imports('../../../apps/bridge/src/index.js'),
      'apps/bridge/src/index.ts': INDEX,
    },
  },
  {
    rule: 'apps-do-not-import-each-other',
    files: {
      'apps/bridge/src/index.ts': imports('../../sandbox/src/index.js'),
      'apps/sandbox/src/index.ts': INDEX,
    },
  },
  {
    rule: 'apps-do-not-import-each-other',
    files: {
      'apps/cli/src/main.ts': imports('../../bridge/src/index.js'),
      'apps/bridge/src/index.ts': INDEX,
    },
  },
  {
    rule: 'apps-do-not-import-tests',
    files: {
      'apps/bridge/src/index.ts': imports('../../../test/support/kafka.js'),
      'test/support/kafka.ts': INDEX,
    },
  },
  {
    rule: 'tests-import-apps-through-index',
    files: {
      'test/e2e/inside.ts': imports('../../apps/bridge/src/inside.js'),
      'apps/bridge/src/inside.ts': INDEX,
    },
  },
  {
    rule: 'folders-only-through-index',
    files: {
      'apps/bridge/src/work-orders/index.ts': imports('../machine-directory/inside.js'),
      'apps/bridge/src/machine-directory/inside.ts': INDEX,
    },
  },
  {
    rule: 'look-ups-do-not-know-commands',
    files: {
      'apps/bridge/src/machine-directory/index.ts': imports('../delivery/index.js'),
      'apps/bridge/src/delivery/index.ts': INDEX,
    },
  },
  {
    rule: 'sandbox-does-not-know-the-client',
    files: {
      'apps/sandbox/src/index.ts': imports('#libs/cloud-client'),
      'libs/cloud-client/src/index.ts': INDEX,
    },
  },
  {
    rule: 'terminal-knows-topics-alone',
    files: {
      'apps/terminal/src/index.ts': imports('#libs/cloud-client'),
      'libs/cloud-client/src/index.ts': INDEX,
    },
  },
  {
    rule: 'ingest-does-not-know-the-service',
    files: {
      'apps/ingest/src/index.ts': imports('#libs/cloud-client'),
      'libs/cloud-client/src/index.ts': INDEX,
    },
  },
  {
    rule: 'ingest-calls-in-callbacks-alone',
    files: {
      'apps/ingest/src/index.ts': imports('#libs/http-calls'),
      'libs/http-calls/src/index.ts': INDEX,
    },
  },
  {
    rule: 'server-does-not-know-the-page',
    files: {
      'apps/terminal/src/index.ts': imports('../page/src/main.js'),
      'apps/terminal/page/src/main.ts': INDEX,
    },
  },
  {
    rule: 'page-knows-the-api-alone',
    files: {
      'apps/terminal/page/src/main.ts': imports('../../src/plant.js'),
      'apps/terminal/src/plant.ts': INDEX,
    },
  },
  { rule: 'kafkajs-only-in-kafka', files: { 'apps/bridge/src/index.ts': imports('kafkajs') } },
  {
    rule: 'kafkajs-only-in-kafka',
    files: {
      'apps/bridge/src/index.ts': imports('#libs/kafkajs-patches'),
      'libs/kafkajs-patches/src/index.ts': INDEX,
    },
  },
  { rule: 'kafkajs-with-its-patches', files: { 'libs/kafka/src/a.ts': imports('kafkajs') } },
  { rule: 'kafkajs-with-its-patches', files: { 'test/e2e/a.e2e-spec.ts': imports('kafkajs') } },
  {
    rule: 'tests-talk-to-kafka-with-a-client-of-their-own',
    files: {
      'test/e2e/reader.ts': imports('#libs/kafkajs-patches'),
      'libs/kafkajs-patches/src/index.ts': INDEX,
    },
  },
  {
    rule: 'test-support-without-the-kafka-lib',
    files: { 'test/support/reader.ts': imports('#libs/kafka'), 'libs/kafka/src/index.ts': INDEX },
  },
  {
    rule: 'opentelemetry-only-where-it-is-loaded',
    files: { 'libs/kafka/src/a.ts': imports('@opentelemetry/api') },
  },
  {
    rule: 'opentelemetry-is-loaded-on-demand',
    files: {
      'libs/tracing/src/index.ts': imports('./open-telemetry.js'),
      'libs/tracing/src/open-telemetry.ts': INDEX,
    },
  },
  { rule: 'axios-only-in-http-calls', files: { 'apps/bridge/src/index.ts': imports('axios') } },
  { rule: 'axios-only-in-http-calls', files: { 'libs/erp-client/src/a.ts': imports('axios') } },
  { rule: 'undici-only-in-http-calls', files: { 'libs/kafka/src/a.ts': imports('undici') } },
  {
    rule: 'pure-libs-without-nest',
    files: { 'libs/delivery/src/index.ts': imports('@nestjs/common') },
  },
  { rule: 'pure-libs-without-io', files: { 'libs/contracts/src/index.ts': imports('node:fs') } },
  { rule: 'pure-libs-without-clients', files: { 'libs/erp-formats/src/a.ts': imports('pino') } },
  {
    rule: 'contracts-is-a-leaf',
    files: {
      'libs/contracts/src/index.ts': imports('#libs/delivery'),
      'libs/delivery/src/index.ts': INDEX,
    },
  },
  {
    rule: 'delivery-knows-contracts-alone',
    files: {
      'libs/delivery/src/index.ts': imports('#libs/clock'),
      'libs/clock/src/index.ts': INDEX,
    },
  },
  {
    rule: 'erp-formats-knows-contracts-alone',
    files: {
      'libs/erp-formats/src/index.ts': imports('#libs/clock'),
      'libs/clock/src/index.ts': INDEX,
    },
  },
  {
    rule: 'order-ledger-knows-contracts-alone',
    files: {
      'libs/order-ledger/src/index.ts': imports('#libs/clock'),
      'libs/clock/src/index.ts': INDEX,
    },
  },
  {
    rule: 'libs-only-through-index',
    files: {
      'apps/bridge/src/index.ts': imports('../../../libs/clock/src/inside.js'),
      'libs/clock/src/inside.ts': INDEX,
    },
  },
  {
    rule: 'libs-only-through-index-in-specs',
    files: {
      'apps/bridge/src/index.spec.ts': imports('../../../libs/clock/src/inside.js'),
      'libs/clock/src/inside.ts': INDEX,
    },
  },
  {
    rule: 'libs-only-through-index-among-libs',
    files: {
      'libs/kafka/src/index.ts': imports('../../clock/src/inside.js'),
      'libs/clock/src/inside.ts': INDEX,
    },
  },
];

/** Imports that the same rules allow. */
export const SOUND_HOUSE: Record<string, string> = {
  'apps/bridge/src/index.ts': imports('./work-orders/index.js', '#libs/kafka'),
  'apps/bridge/src/work-orders/index.ts': imports('../machine-directory/index.js'),
  'apps/bridge/src/machine-directory/index.ts': imports('#libs/cloud-client', '@nestjs/common'),
  'apps/sandbox/src/index.ts': imports('#libs/clock'),
  'libs/clock/src/index.ts': imports('node:timers/promises'),
  'libs/cloud-client/src/index.ts': imports('#libs/http-calls'),
  'libs/contracts/src/index.ts': imports('node:crypto'),
  'libs/delivery/src/index.ts': imports('#libs/contracts', 'node:util'),
  'libs/erp-formats/src/index.ts': imports('#libs/contracts', 'saxes'),
  'libs/erp-client/src/index.ts': imports('#libs/http-calls'),
  'libs/http-calls/src/index.ts': imports('axios', 'undici', '#libs/clock'),
  'libs/kafka/src/index.ts': imports('#libs/kafkajs-patches', 'node:crypto', '#libs/contracts'),
  'libs/kafkajs-patches/src/index.ts': imports('kafkajs', '#libs/contracts'),
  'test/e2e/whole.ts': imports('../../apps/bridge/src/index.js', '../support/stock-kafkajs.js'),
  'test/support/stock-kafkajs.ts': imports('kafkajs'),
};
