import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realEpochMs } from '#libs/clock';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import { type Environment, EnvironmentReader, readSettings } from './environment-reader.js';
import { readHttpSettings } from './http-settings.js';
import { loadSandboxSettings } from './sandbox-settings.js';
import { readClockSettings } from './clock-settings.js';
import { describeBridgeSettings } from './bridge-settings.js';
import { readProxySettings } from './proxy-settings.js';
import { readErpSettings } from './erp-settings.js';

/** What a part of the settings is read as, and its problems. */
const readerOf =
  <T>(readPart: (env: EnvironmentReader) => T) =>
  (environment: Environment) => {
    const env = new EnvironmentReader(environment);
    return { settings: readPart(env), problems: env.problems };
  };

describe('readHttpSettings', () => {
  const read = readerOf(readHttpSettings);

  it('listens on loopback, port 3000, without a token by default', () => {
    expect(read({})).toEqual({ settings: { host: '127.0.0.1', port: 3000 }, problems: [] });
  });

  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('requires no token on %s', (host) => {
    expect(read({ BRIDGE_HTTP_HOST: host }).problems).toEqual([]);
  });

  it('listens on one address where localhost has two: limits are set of one server', () => {
    expect(read({ BRIDGE_HTTP_HOST: 'localhost' }).settings.host).toBe('127.0.0.1');
    expect(loadSandboxSettings({ SANDBOX_HTTP_HOST: 'localhost' }).http.host).toBe('127.0.0.1');
  });

  it.each(['0.0.0.0', '::', 'bridge.plant.example', '127.0.0.1.example'])(
    'requires a token on %s',
    (host) => {
      expect(read({ BRIDGE_HTTP_HOST: host, BRIDGE_API_TOKEN: ' ' }).problems).toEqual([
        'BRIDGE_API_TOKEN is required when BRIDGE_HTTP_HOST is not loopback',
      ]);
      const { settings, problems } = read({ BRIDGE_HTTP_HOST: host, BRIDGE_API_TOKEN: 'secret' });
      expect(settings).toEqual({ host, port: 3000, apiToken: 'secret' });
      expect(problems).toEqual([]);
    },
  );

  it.each(['two\nlines', 'tokén'])('refuses a token that no client could send: %j', (token) => {
    expect(read({ BRIDGE_API_TOKEN: token }).problems).toEqual([
      'BRIDGE_API_TOKEN holds a line break or another character that no header can carry',
    ]);
    expect(read({ BRIDGE_API_TOKEN: 'two words' }).problems).toEqual([]);
  });

  it.each([
    'http://127.0.0.1',
    '127.0.0.1:3000',
    '[::1]',
    'two words',
    'host/path',
    'x'.repeat(254),
  ])('refuses %j for a host', (host) => {
    expect(read({ BRIDGE_HTTP_HOST: host }).problems).toEqual([
      'BRIDGE_HTTP_HOST must be a host name or an IP address, and nothing else',
    ]);
  });

  it('accepts port 0 for any free port and refuses invalid ports', () => {
    expect(read({ BRIDGE_HTTP_PORT: '0' }).settings.port).toBe(0);
    expect(read({ BRIDGE_HTTP_PORT: '65536' }).problems).toEqual([
      'BRIDGE_HTTP_PORT must be a whole number from 0 to 65535',
    ]);
  });
});

describe('readClockSettings', () => {
  const read = readerOf(readClockSettings);

  it('runs at real speed from now by default', () => {
    const { settings, problems } = read({});
    expect(problems).toEqual([]);
    expect(settings.speed).toBe(1);
    expect(Math.abs(settings.originSeconds - realEpochMs() / 1000)).toBeLessThan(10);
    expect(Number.isInteger(settings.originSeconds)).toBe(true);
  });

  it('refuses a clock that stands still or runs backwards', () => {
    expect(read({ CLOCK_SPEED: '0', CLOCK_ORIGIN: '-1' }).problems).toEqual([
      'CLOCK_SPEED must be a number above 0, 60000 at most',
      'CLOCK_ORIGIN must be epoch seconds: a whole number, and not milliseconds',
    ]);
  });

  it.each(['1763680000000', '1763680000.5', '2025-11-21T00:00:00Z', '0'])(
    'refuses %s for an origin: it is not epoch seconds',
    (origin) => {
      expect(read({ CLOCK_ORIGIN: origin }).problems).toEqual([
        'CLOCK_ORIGIN must be epoch seconds: a whole number, and not milliseconds',
      ]);
    },
  );

  it.each([
    ['60000', '1763680000'],
    ['60', '1'],
    ['2', '99999999999'],
  ])(
    'refuses a clock that speed %s and origin %s put beyond all times of the service',
    (speed, origin) => {
      expect(read({ CLOCK_SPEED: speed, CLOCK_ORIGIN: origin }).problems).toEqual([
        'CLOCK_ORIGIN is too far from now: at CLOCK_SPEED the clock is not within 1970 to 5138',
      ]);
      expect(read({ CLOCK_ORIGIN: origin }).problems).toEqual([]);
    },
  );

  it('refuses any speed but the real one, and any origin, in production', () => {
    const production = { NODE_ENV: 'production' };
    expect(read({ ...production, CLOCK_SPEED: '60' }).problems).toEqual([
      'CLOCK_SPEED other than 1 is refused when NODE_ENV is production',
    ]);
    expect(read({ ...production, CLOCK_SPEED: '1' }).problems).toEqual([]);
    expect(read({ ...production, CLOCK_ORIGIN: '1763680000' }).problems).toEqual([
      'CLOCK_ORIGIN is refused when NODE_ENV is production',
    ]);
    expect(read({ NODE_ENV: 'test', CLOCK_SPEED: '60' }).problems).toEqual([]);
  });
});

describe('the settings of the proxy', () => {
  const read = (environment: Environment) => readSettings(environment, readProxySettings);

  it('are undefined without a proxy, also with excepted hosts', () => {
    expect(read({ NO_PROXY: '*' })).toBeUndefined();
    expect(read({ HTTPS_PROXY: ' ', https_proxy: '' })).toBeUndefined();
  });

  it.each([
    ['http://proxy.example.com:3128', 'http://proxy.example.com:3128'],
    ['http://proxy.example.com/', 'http://proxy.example.com:80'],
    ['proxy.example.com:3128', 'http://proxy.example.com:3128'],
    ['http://[fd00::1]:3128', 'http://[fd00::1]:3128'],
  ])('have its address: %s', (HTTPS_PROXY, origin) => {
    expect(read({ HTTPS_PROXY })).toEqual({ origin, noProxy: [] });
  });

  it('have its login, decoded, and the excepted hosts', () => {
    const env = {
      HTTPS_PROXY: 'plant:p%40ss:word@proxy:3128',
      NO_PROXY: 'a.example, .b.example c',
    };
    expect(read(env)).toEqual({
      origin: 'http://proxy:3128',
      authorization: `Basic ${Buffer.from('plant:p@ss:word').toString('base64')}`,
      noProxy: ['a.example', '.b.example', 'c'],
    });
  });

  it('prefer the lower-case names', () => {
    const upper = { HTTPS_PROXY: 'http://upper:1', NO_PROXY: 'upper' };
    const lower = { https_proxy: 'http://lower:2', no_proxy: 'lower' };
    expect(read(lower)).toEqual({ origin: 'http://lower:2', noProxy: ['lower'] });
    expect(read({ ...upper, ...lower })).toEqual({ origin: 'http://lower:2', noProxy: ['lower'] });
    expect(() => read({ ...upper, https_proxy: 'https://lower' })).toThrow(
      /^ *- https_proxy must/m,
    );
  });

  it('may be in a file', () => {
    const file = temporaryFile('proxy', 'http://plant:secret@proxy:3128\n');
    expect(read({ HTTPS_PROXY_FILE: file })).toMatchObject({ origin: 'http://proxy:3128' });
  });

  it.each([
    'https://proxy:3128',
    'socks5://plant:s3cret-of-proxy@proxy:1080',
    'http://plant:s3cret-of-proxy@proxy:3128/path',
    'http://plant:s3cret-of-proxy@proxy:99999',
    'http://plant:s3cret-of-proxy%zz@proxy',
    'http://plant:s3cret-of-pr/oxy@proxy',
    'http://pro xy',
  ])('name what is wrong with %s, and not its login', (HTTPS_PROXY) => {
    expect(() => read({ HTTPS_PROXY })).toThrow(/HTTPS_PROXY (must be|has)/);
    expect(() => read({ HTTPS_PROXY })).not.toThrow(/s3cret/);
  });

  it.each([
    ['HTTPS_PROXY', 'http://plant:s3cret@proxy:3128', 'http://********@proxy:3128'],
    ['https_proxy', 'plant:s3cret@proxy:3128', '********@proxy:3128'],
    ['HTTPS_PROXY', 'http://plant:s3c@r/et@proxy:3128', 'http://********@proxy:3128'],
    ['HTTPS_PROXY', 'http://proxy:3128', 'http://proxy:3128'],
    ['MACHINE_CLOUD_BASE_URL', 'https://plant:s3c@r/et@cloud', 'https://********@cloud'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://plant:s3c/r@et@otel', 'http://********@otel'],
    ['KAFKA_BROKERS', 'kafka-1:9092,plant:s3cret@kafka-2:9092', '********@kafka-2:9092'],
    ['MACHINE_CLOUD_BASE_URL', 'plant:s3cret@cloud', '********@cloud'],
    ['KAFKA_SCHEMA_REGISTRY_URL', 'plant:s3cret@registry:8081', '********@registry:8081'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://otel:4318/?key=s3cret', 'http://otel:4318/?********'],
    ['KAFKA_SCHEMA_REGISTRY_URL', 'plant:p://s3c@registry', '********@registry'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'at=http://plant:s3c@host', 'at=http://********@host'],
    ['MACHINE_CLOUD_LOGIN_EMAIL', 'bridge@example.com', 'bridge@example.com'],
  ])('are described without the login: %s=%s', (name, value, masked) => {
    const { settings } = describeBridgeSettings({ [name]: value });
    expect(settings).toContainEqual({ name, value: masked, source: 'environment' });
  });
});

describe('readErpSettings', () => {
  const folder = temporaryFolder();
  const operation = { plant: '0001', workCentre: 'FR01' };

  function read(path: string) {
    const env = new EnvironmentReader({ EQUIPMENT_MAP_FILE: path });
    return { ...readErpSettings(env), problems: env.problems };
  }

  function fileOf(name: string, content: string): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  it('uses the work centre as the machine without a map', () => {
    expect(read('').equipmentMap.machineOf(operation)).toBe('FR01');
  });

  it.each([
    ['map.json', '[{"plant": "0001", "workCentre": "FR01", "machineId": "M-7"}]'],
    ['map.yaml', '- plant: 0001\n  workCentre: FR01\n  machineId: M-7\n'],
    ['map.csv', 'plant;workCentre;machineId\n0001;FR01;M-7\n'],
    ['map.YML', '- { plant: 0001, workCentre: FR01, machineId: M-7 }\n'],
  ])('reads a list of entries: %s', (name, content) => {
    const { equipmentMap, problems } = read(fileOf(name, content));
    expect(problems).toEqual([]);
    expect(equipmentMap.machineOf(operation)).toBe('M-7');
    expect(equipmentMap.machineOf({ ...operation, plant: '0002' })).toBeUndefined();
  });

  it.each([
    ['no-list.json', '{}', 'must be a list'],
    ['no-json.json', '- plant: 0001', 'not valid json'],
    ['hole.yaml', '- { plant: 0001, workCentre: FR01 }', 'entry 1'],
  ])('names what is wrong with what is no map: %s', (name, content, why) => {
    const { problems } = read(fileOf(name, content));
    expect(problems).toEqual([expect.stringContaining('EQUIPMENT_MAP_FILE is no equipment map')]);
    expect(problems[0]).toContain(why);
  });

  it.each(['EQUIPMENT_MAP_FILE', 'ERP_MAPPING_FILE', 'ERP_ENRICHMENT_FILE'])(
    'quotes nothing of another file, which may hold a secret: %s',
    (name) => {
      const env = new EnvironmentReader({ [name]: fileOf('password', 's3cret-of-kafka') });
      readErpSettings(env);
      expect(env.problems).toEqual([expect.stringMatching(/not valid json: Unexpected token 's'/)]);
      expect(env.problems[0]).not.toContain('s3cret');
    },
  );

  it.each([
    ['mapping.json', '[{"topic": "acme/*", "expression": "job"}]'],
    ['mapping.yml', '- topic: acme/*\n  expression: job\n'],
  ])('reads expressions for formats without an adapter: %s', (name, content) => {
    const env = new EnvironmentReader({ ERP_MAPPING_FILE: fileOf(name, content) });
    const { mapping } = readErpSettings(env);
    expect(env.problems).toEqual([]);
    expect(mapping).toEqual([{ name: '1', topic: 'acme/*', expression: 'job' }]);
  });

  it('names the entry and the character of an invalid expression', () => {
    const path = fileOf('wrong.json', '[{"topic": "acme", "expression": "{"}]');
    const env = new EnvironmentReader({ ERP_MAPPING_FILE: path });
    readErpSettings(env);
    expect(env.problems).toEqual([
      expect.stringMatching(/ERP_MAPPING_FILE is no mapping: entry 1 .* at character 1/),
    ]);
  });
});
