import { EnvironmentReader } from './environment-reader.js';
import { readSchemaRegistrySettings, type SchemaRegistrySettings } from './kafka-settings.js';

function read(
  given: Record<string, string>,
): SchemaRegistrySettings | readonly string[] | undefined {
  const env = new EnvironmentReader(
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name.startsWith('HTTPS') ? name : `KAFKA_SCHEMA_REGISTRY_${name}`,
        value,
      ]),
    ),
  );
  const settings = readSchemaRegistrySettings(env);
  return env.problems.length > 0 ? env.problems : settings;
}

describe('the settings of the schema registry', () => {
  it('may be left out', () => {
    expect(read({})).toBeUndefined();
  });

  it('are its address, by http as well', () => {
    const url = 'http://registry.plant:8080/apis/ccompat/v7';
    expect(read({ URL: url })).toEqual({ url, outputs: [] });
  });

  it('may have a login, and a proxy', () => {
    const url = 'https://registry.example.com';
    const given = { URL: url, USERNAME: 'bridge', PASSWORD: 'a:b', HTTPS_PROXY: 'http://p:1' };
    expect(read(given)).toEqual({
      url,
      authorization: `Basic ${Buffer.from('bridge:a:b').toString('base64')}`,
      proxy: { origin: 'http://p:1', noProxy: [] },
      outputs: [],
    });
  });

  it('may name outputs to be framed', () => {
    const given = { URL: 'http://r:1', OUTPUTS: 'outcomes, state-events,outcomes' };
    expect(read(given)).toMatchObject({ outputs: ['state-events', 'outcomes'] });
  });

  it.each<[string, Record<string, string>, string]>([
    ['a login without an address', { PASSWORD: 'x' }, 'URL is required beside'],
    ['outputs without an address', { OUTPUTS: 'outcomes' }, 'URL is required beside'],
    ['an unknown output', { URL: 'http://r:1', OUTPUTS: 'all' }, 'must be of state-events'],
    ['a login in the clear', { URL: 'http://r:1', USERNAME: 'a', PASSWORD: 'b' }, 'must be https'],
    ['half a login', { URL: 'https://r', USERNAME: 'a' }, 'PASSWORD or'],
    ['the other half', { URL: 'https://r', PASSWORD: 'a' }, 'USERNAME is required'],
    ['a colon', { URL: 'https://r', USERNAME: 'a:b', PASSWORD: 'a' }, 'must not hold a colon'],
    ['a login in the address', { URL: 'https://a:b@r' }, 'must not carry a user name'],
    ['several addresses', { URL: 'http://a:1, http://b:1' }, 'must be one URL'],
    ['another scheme', { URL: 'ftp://a' }, 'must be one URL'],
    ['a query', { URL: 'https://a?b=c' }, 'must not carry a query'],
  ])('are wrong with %s', (_, given, problem) => {
    const problems = read(given);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });
});
