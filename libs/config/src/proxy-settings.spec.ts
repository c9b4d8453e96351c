import { temporaryFile } from '../test/temporary-files.js';
import { describeBridgeSettings } from './bridge-settings.js';
import { type Environment, readSettings } from './environment-reader.js';
import { readProxySettings } from './proxy-settings.js';

const read = (environment: Environment) => readSettings(environment, readProxySettings);

describe('the settings of the proxy', () => {
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
