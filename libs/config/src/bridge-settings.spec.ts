import { problemsOf } from '../test/problems-of.js';
import { loadBridgeSettings } from './bridge-settings.js';
import type { Environment } from './environment-reader.js';
import { SettingsError } from './environment-reader.js';

const NEEDED = {
  KAFKA_BROKERS: 'kafka:9092',
  MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com',
  MACHINE_CLOUD_TOKEN: 'a-token',
};

const load = (environment: Environment = {}) => loadBridgeSettings({ ...NEEDED, ...environment });

describe('loadBridgeSettings', () => {
  it('reads all settings', () => {
    const settings = load({
      BRIDGE_FLOWS: 'machine-states, work-orders',
      POLL_INTERVAL_SECONDS: '30',
      STALE_AFTER_SECONDS: '240',
      SETTLE_SECONDS: '0',
      BACKFILL_ON_FIRST_START_SECONDS: '3600',
      DIRECTORY_REFRESH_SECONDS: '60',
      REASONS_REFRESH_SECONDS: '600',
      DOWNTIME_REASON_MAX_SKEW_SECONDS: '0',
      WORK_ORDER_LIST_MAX_MACHINES: '1',
      WORK_ORDER_LIST_LINGER_MS: '0',
      OUTCOME_DEFERRED_AFTER_SECONDS: '5',
      ERP_TIME_ZONE: 'Europe/Berlin',
      COMMAND_MAX_SKEW_SECONDS: '0',
      LOG_LEVEL: 'debug',
    });
    expect(settings).toMatchObject({
      flows: new Set(['machine-states', 'work-orders']),
      polling: {
        intervalSeconds: 30,
        staleAfterSeconds: 240,
        settleSeconds: 0,
        backfillOnFirstStartSeconds: 3600,
      },
      directoryRefreshSeconds: 60,
      reasonsRefreshSeconds: 600,
      downtimeReasonMaxSkewSeconds: 0,
      workOrderList: { maxMachines: 1, lingerMs: 0 },
      outcomeDeferredAfterSeconds: 5,
      erp: { timeZone: 'Europe/Berlin', commandMaxSkewSeconds: 0 },
      logLevel: 'debug',
    });
  });

  it.each([
    ['POLL_INTERVAL_SECONDS', '0'],
    ['KAFKA_GROUP_ID', 'two\nlines'],
    ['KAFKA_CLIENT_ID', 'a\u0000b'],
    ['BRIDGE_FLOWS', 'work-orders,lunch'],
    ['BRIDGE_FLOWS', ','],
  ])('refuses %s=%s and names nothing else', (name, value) => {
    const problems = problemsOf(() => load({ [name]: value }));
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(`${name} `)).toBe(true);
  });

  it('reports all problems in one message, by name and without a value', () => {
    const secret = 'hunter2-hunter2';
    const error = new SettingsError(
      problemsOf(() =>
        loadBridgeSettings({
          KAFKA_SASL_MECHANISM: secret,
          KAFKA_SASL_PASSWORD: secret,
          MACHINE_CLOUD_BASE_URL: `http://bridge:${secret}@cloud.example.com`,
          MACHINE_CLOUD_TOKEN: secret,
          MACHINE_CLOUD_TOKEN_FILE: `/run/${secret}`,
          BRIDGE_API_TOKEN: secret,
          BRIDGE_API_TOKEN_FILE: `/run/${secret}`,
          BRIDGE_FLOWS: secret,
          POLL_INTERVAL_SECONDS: secret,
          ERP_TIME_ZONE: secret,
          LOG_LEVEL: secret,
        }),
      ),
    );
    expect(new Set(error.problems.map((problem) => problem.split(' ')[0]))).toEqual(
      new Set([
        'KAFKA_BROKERS',
        'KAFKA_SASL_MECHANISM',
        'KAFKA_SASL_USERNAME',
        'MACHINE_CLOUD_BASE_URL',
        'MACHINE_CLOUD_TOKEN',
        'MACHINE_CLOUD_TOKEN_FILE',
        'BRIDGE_API_TOKEN',
        'BRIDGE_FLOWS',
        'POLL_INTERVAL_SECONDS',
        'ERP_TIME_ZONE',
        'LOG_LEVEL',
      ]),
    );
    for (const problem of error.problems) expect(error.message).toContain(problem);
    expect(error.message).not.toContain(secret);
  });
});
