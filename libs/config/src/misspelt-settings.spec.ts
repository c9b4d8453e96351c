import { loadBridgeSettings } from './bridge-settings.js';
import { loadIngestSettings } from './ingest-settings.js';
import { misspeltSettings } from './misspelt-settings.js';
import { loadTerminalSettings } from './terminal-settings.js';

const NEEDED = {
  KAFKA_BROKERS: 'kafka:9092',
  MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com',
  MACHINE_CLOUD_TOKEN: 'secret-token',
};

describe('a misspelt setting', () => {
  it.each(['KAFKA_BROKER', 'KAFKA_BROEKRS', 'KAFKA_BROCKERS', 'KAFKA_BROKERSS', 'kAFKA_BROKER'])(
    'is found: %s',
    (name) => {
      expect(misspeltSettings({ [name]: 'kafka:9092' }, ['KAFKA_SSL', 'KAFKA_BROKERS'])).toEqual([
        { name, meant: 'KAFKA_BROKERS' },
      ]);
    },
  );

  it.each(['KAFKA_PORT', 'KAFKA_BROKERS_URL', 'BROKERS', 'PATH'])(
    'is none where the name is another: %s',
    (name) => {
      expect(misspeltSettings({ [name]: 'x' }, ['KAFKA_BROKERS'])).toEqual([]);
    },
  );

  it.each(['HTTP_PROXY', 'http_proxy', 'KAFKA_URL', 'KAFKA_SRV', 'OTEL_BLRP_SCHEDULE_DELAY'])(
    'is none of other programs: %s',
    (name) => {
      expect(loadBridgeSettings({ ...NEEDED, [name]: 'http://proxy:80' }).unsupported).toEqual([]);
    },
  );

  it.each([
    ['KAFKA_SSL_KE_FILE', 'KAFKA_SSL_KEY_FILE'],
    ['KAFKA_SSL_CET_FILE', 'KAFKA_SSL_CERT_FILE'],
    ['KAFKA_SSL_CA', 'KAFKA_SSL_CA_FILE'],
    ['KAFKA_GROUP_ID_FILE', 'KAFKA_GROUP_ID'],
    ['STALE_AFTER', 'STALE_AFTER_SECONDS'],
    ['POLL_INTERVAL_MS', 'POLL_INTERVAL_SECONDS'],
    ['BRIDGE_API_TOKEN_SECONDS', 'BRIDGE_API_TOKEN or BRIDGE_API_TOKEN_FILE'],
    ['BRIDGE_HTTP_POTR', 'BRIDGE_HTTP_PORT'],
    ['BRIDGE_HTTP_POST', 'BRIDGE_HTTP_HOST or BRIDGE_HTTP_PORT'],
  ])('is taken for the nearest: %s for %s', (name, meant) => {
    const { unsupported } = loadBridgeSettings({ ...NEEDED, [name]: 'x' });
    expect(unsupported).toMatchObject([{ name, instead: `it is not a setting: ${meant} is` }]);
  });

  it('is ignored where the right name is set too, or the wrong one is empty', () => {
    const both = { KAFKA_BROKER: 'kafka:9092', KAFKA_BROKERS: 'kafka:9092' };
    expect(misspeltSettings(both, ['KAFKA_BROKERS'])).toEqual([]);
    expect(misspeltSettings({ KAFKA_BROKER: ' ' }, ['KAFKA_BROKERS'])).toEqual([]);
  });

  it('is named beside the missing setting', () => {
    const { KAFKA_BROKERS, ...others } = NEEDED;
    expect(() => loadBridgeSettings({ ...others, KAFKA_BROKER: KAFKA_BROKERS })).toThrow(
      /- KAFKA_BROKERS is required: [^]*- KAFKA_BROKER is not a setting: KAFKA_BROKERS is/,
    );
  });

  it('is without effect where nothing else is wrong', () => {
    expect(loadBridgeSettings({ ...NEEDED, POLL_INTERVAL_SECOND: '30' }).unsupported).toEqual([
      { name: 'POLL_INTERVAL_SECOND', instead: 'it is not a setting: POLL_INTERVAL_SECONDS is' },
    ]);
    expect(loadBridgeSettings(NEEDED).unsupported).toEqual([]);
  });

  it('is reported to ingest and the terminal, which could be open to every client because of it', () => {
    const of = (meant: string) => `it is not a setting: ${meant} is`;
    const ingest = loadIngestSettings({ ...NEEDED, INGEST_SENDER_FILE: '/senders.json' });
    expect(ingest.unsupported).toEqual([
      { name: 'INGEST_SENDER_FILE', instead: of('INGEST_SENDERS_FILE') },
    ]);
    const terminal = loadTerminalSettings({ ...NEEDED, TERMINAL_TOKEN_FILE: '/tokens.json' });
    expect(terminal.unsupported).toEqual([
      { name: 'TERMINAL_TOKEN_FILE', instead: of('TERMINAL_TOKENS_FILE') },
    ]);
  });
});
