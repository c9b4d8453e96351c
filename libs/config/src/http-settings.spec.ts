import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readHttpSettings } from './http-settings.js';
import { loadSandboxSettings } from './sandbox-settings.js';

function read(environment: Environment) {
  const env = new EnvironmentReader(environment);
  return { settings: readHttpSettings(env), problems: env.problems };
}

describe('readHttpSettings', () => {
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

  it.each(['http://127.0.0.1', '127.0.0.1:3000', '[::1]', 'two words', 'host/path'])(
    'refuses %j for a host',
    (host) => {
      expect(read({ BRIDGE_HTTP_HOST: host }).problems).toEqual([
        'BRIDGE_HTTP_HOST must be a host name or an IP address, and nothing else',
      ]);
    },
  );

  it('accepts port 0 for any free port and refuses invalid ports', () => {
    expect(read({ BRIDGE_HTTP_PORT: '0' }).settings.port).toBe(0);
    expect(read({ BRIDGE_HTTP_PORT: '65536' }).problems).toEqual([
      'BRIDGE_HTTP_PORT must be a whole number from 0 to 65535',
    ]);
  });
});
