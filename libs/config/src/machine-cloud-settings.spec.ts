import { join } from 'node:path';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readMachineCloudSettings } from './bridge-settings.js';

const BASE_URL = 'MACHINE_CLOUD_BASE_URL';
const NEEDED = { [BASE_URL]: 'https://cloud.example.com', MACHINE_CLOUD_TOKEN: 'a-token' };

function read(environment: Environment) {
  const env = new EnvironmentReader({ ...NEEDED, ...environment });
  return { settings: readMachineCloudSettings(env), problems: env.problems };
}

describe('readMachineCloudSettings', () => {
  it('reads all settings', () => {
    const { settings, problems } = read({
      MACHINE_CLOUD_REASON_FIELD: 'reason',
      MACHINE_CLOUD_MACHINE_INFO_PATH: 'machineInfo',
      MACHINE_CLOUD_TIMEOUT_MS: '2500',
      MACHINE_CLOUD_MAX_CONCURRENCY: '8',
      MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND: '2.5',
    });
    expect(settings).toMatchObject({
      reasonField: 'reason',
      machineInfoPath: 'machineInfo',
      timeoutMs: 2500,
      maxConcurrency: 8,
      maxRequestsPerSecond: 2.5,
    });
    expect(problems).toEqual([]);
  });

  it.each([
    ['MACHINE_CLOUD_REASON_FIELD', 'code', 'must be one of reasonId, reason'],
    ['MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND', '0', 'must be a number above 0'],
  ])('refuses %s=%s', (name, value, why) => {
    expect(read({ [name]: value }).problems).toEqual([`${name} ${why}`]);
  });

  describe('the path of the directory', () => {
    it.each(['machineInfo', '/MahcineInfo', 'plant-1/machine_info.json'])('may be %s', (path) => {
      const { settings, problems } = read({ MACHINE_CLOUD_MACHINE_INFO_PATH: path });
      expect([settings.machineInfoPath, problems]).toEqual([path, []]);
    });

    it.each([
      ['../admin', 'must be a path of'],
      ['a/../../admin', 'must be a path of'],
      ['./machineInfo', 'must be a path of'],
      ['a\\..\\admin', 'must be a path of'],
      ['%2e%2e/admin', 'must be a path of'],
      ['machine info', 'must be a path of'],
      ['machineInfo?all=true', 'must be a path of'],
      ['machineInfo#top', 'must be a path of'],
      ['machine\nInfo', 'must be a path of'],
      ['//evil.example.com/a', 'must be a path of'],
      ['https://cloud.example.com/machineInfo', 'must be a path of'],
      ['/', 'must be a path of'],
      ['/api/v1/machineInfo', 'must not begin with /api/v1'],
    ])('may not be %j: it %s', (path, why) => {
      const { problems } = read({ MACHINE_CLOUD_MACHINE_INFO_PATH: path });
      expect(problems).toEqual([expect.stringContaining(`MACHINE_CLOUD_MACHINE_INFO_PATH ${why}`)]);
    });
  });

  describe('the address', () => {
    it.each([
      'https://cloud.example.com',
      'https://cloud.example.com:8443/tenant',
      'https://gateway.example.com/api',
      'http://localhost:3100',
      'http://127.0.0.1:3100',
      'http://[::1]:3100',
    ])('may be %s', (url) => {
      expect(read({ [BASE_URL]: url })).toMatchObject({ settings: { baseUrl: url }, problems: [] });
    });

    it('loses the slashes at its end', () => {
      expect(read({ [BASE_URL]: 'https://cloud.example.com//' }).settings.baseUrl).toBe(
        'https://cloud.example.com',
      );
    });

    it.each([
      ['', 'is required'],
      ['cloud.example.com', 'must be a URL'],
      ['http://cloud.example.com', 'must be https'],
      ['http://localhost.example.com', 'must be https'],
      ['http://127.0.0.1.example.com', 'must be https'],
      ['http://0.0.0.0:3100', 'must be https'],
      ['ftp://localhost', 'must be https'],
      ['https://cloud.example.com:0', 'must not name port 0'],
      ['https://user:hunter2@cloud.example.com', 'must not carry a user name or password'],
      ['https://cloud.example.com/?tenant=7', 'must not carry a query'],
      ['https://cloud.example.com?', 'must not carry a query'],
      ['https://cloud.example.com/#top', 'must not carry a fragment'],
      ['https://cloud.example.com#', 'must not carry a fragment'],
      ['https://cloud.example.com/api/v1', 'must not end in /api/v1'],
      ['https://cloud.example.com/tenant/API/v1/', 'must not end in /api/v1'],
      ['https://cloud.exa\nmple.com', 'must be a URL'],
      ['https://cloud.example.com/a tenant', 'must be a URL'],
      ['http://localhost@cloud.example.com', 'must not carry a user name or password'],
    ])('may not be %j: it %s', (url, why) => {
      const { problems } = read({ [BASE_URL]: url });
      expect(problems).toEqual([expect.stringContaining(`${BASE_URL} ${why}`)]);
      expect(problems[0]).not.toContain('hunter2');
    });
  });
});

const SECRET = 'hunter2-hunter2';
const LOGIN = {
  MACHINE_CLOUD_LOGIN_EMAIL: 'me@example.com',
  MACHINE_CLOUD_LOGIN_PASSWORD: SECRET,
};
const OAUTH = {
  MACHINE_CLOUD_OAUTH_TOKEN_URL: 'https://login.example.com/oauth2/token?tenant=7',
  MACHINE_CLOUD_OAUTH_CLIENT_ID: 'bridge',
  MACHINE_CLOUD_OAUTH_CLIENT_SECRET: SECRET,
};

function readTokenOf(environment: Environment) {
  const { settings, problems } = read({ MACHINE_CLOUD_TOKEN: '', ...environment });
  return { settings: settings.token, problems };
}

describe('the way to a token', () => {
  const path = temporaryFile('secret', `${SECRET}\n`);
  const missing = join(temporaryFolder(), 'missing');

  it.each([
    ['a token', { MACHINE_CLOUD_TOKEN: SECRET }, { kind: 'fixed', token: SECRET }],
    ['a file, read again later', { MACHINE_CLOUD_TOKEN_FILE: path }, { kind: 'file', path }],
    ['a login', LOGIN, { kind: 'login', email: 'me@example.com', password: SECRET }],
    [
      'a login with its password in a file',
      { ...LOGIN, MACHINE_CLOUD_LOGIN_PASSWORD: ' ', MACHINE_CLOUD_LOGIN_PASSWORD_FILE: path },
      { kind: 'login', email: 'me@example.com', password: SECRET },
    ],
    [
      'an OAuth client',
      OAUTH,
      {
        kind: 'oauth',
        tokenUrl: 'https://login.example.com/oauth2/token?tenant=7',
        clientId: 'bridge',
        clientSecret: SECRET,
      },
    ],
    [
      'an OAuth client with a scope and its secret in a file',
      {
        ...OAUTH,
        MACHINE_CLOUD_OAUTH_CLIENT_SECRET: '',
        MACHINE_CLOUD_OAUTH_CLIENT_SECRET_FILE: path,
        MACHINE_CLOUD_OAUTH_SCOPE: 'machines.read machines.write',
      },
      { kind: 'oauth', clientSecret: SECRET, scope: 'machines.read machines.write' },
    ],
  ])('may be %s', (_what, environment, settings) => {
    expect(readTokenOf(environment)).toMatchObject({ settings, problems: [] });
  });

  it('is required, and the message names all of them', () => {
    const { problems } = readTokenOf({ MACHINE_CLOUD_TOKEN: ' ' });
    expect(problems).toEqual([
      expect.stringMatching(/^MACHINE_CLOUD_TOKEN is required, or another way/),
    ]);
    for (const name of ['MACHINE_CLOUD_TOKEN_FILE', ...Object.keys({ ...LOGIN, ...OAUTH })]) {
      expect(problems[0]).toContain(name);
    }
  });

  it.each([
    [
      { MACHINE_CLOUD_TOKEN: SECRET, MACHINE_CLOUD_TOKEN_FILE: path },
      'MACHINE_CLOUD_TOKEN and MACHINE_CLOUD_TOKEN_FILE',
    ],
    [
      { MACHINE_CLOUD_TOKEN_FILE: path, ...LOGIN },
      'MACHINE_CLOUD_TOKEN_FILE and MACHINE_CLOUD_LOGIN_EMAIL + MACHINE_CLOUD_LOGIN_PASSWORD',
    ],
  ])('must be one alone, not %j', (environment, ways) => {
    expect(readTokenOf(environment).problems).toEqual([
      `${ways} are different ways to a token: keep one, unset the others`,
    ]);
  });

  it('must be complete: missing settings are named with all other problems', () => {
    const half = { MACHINE_CLOUD_LOGIN_EMAIL: 'me', MACHINE_CLOUD_OAUTH_SCOPE: 'all' };
    expect(readTokenOf(half).problems).toEqual([
      'MACHINE_CLOUD_LOGIN_EMAIL and MACHINE_CLOUD_OAUTH_SCOPE are different ways to a token: keep one, unset the others',
      'MACHINE_CLOUD_LOGIN_PASSWORD or MACHINE_CLOUD_LOGIN_PASSWORD_FILE is required: the password of the login',
      'MACHINE_CLOUD_OAUTH_TOKEN_URL is required: where OAuth tokens are handed out',
      'MACHINE_CLOUD_OAUTH_CLIENT_ID is required: the client that OAuth tokens are handed out to',
      'MACHINE_CLOUD_OAUTH_CLIENT_SECRET or MACHINE_CLOUD_OAUTH_CLIENT_SECRET_FILE is required: the secret of the OAuth client',
    ]);
    expect(readTokenOf({ MACHINE_CLOUD_LOGIN_PASSWORD_FILE: path }).problems).toEqual([
      'MACHINE_CLOUD_LOGIN_EMAIL is required: whom to log in',
    ]);
  });

  it.each(['two\nlines', 'Bearer a-token', 'nul\u0000', 'bell\u0007', 'tokén'])(
    'may not be one that no header can carry: %j',
    (token) => {
      expect(readTokenOf({ MACHINE_CLOUD_TOKEN: token }).problems).toEqual([
        'MACHINE_CLOUD_TOKEN holds a line break, a blank or another character that no token in a header can have; give the token alone, without Bearer',
      ]);
    },
  );

  it.each([
    [{ MACHINE_CLOUD_TOKEN_FILE: missing }, 'MACHINE_CLOUD_TOKEN_FILE names a file that cannot be'],
    [
      { ...OAUTH, MACHINE_CLOUD_OAUTH_TOKEN_URL: 'http://login.example.com/token' },
      'MACHINE_CLOUD_OAUTH_TOKEN_URL must be https',
    ],
  ])('may not be %j', (environment, problem) => {
    expect(readTokenOf(environment).problems).toEqual([expect.stringContaining(problem)]);
  });
});
