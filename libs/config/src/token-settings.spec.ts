import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readToken } from './machine-cloud-settings.js';

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

function read(environment: Environment) {
  const env = new EnvironmentReader(environment);
  return { settings: readToken(env), problems: env.problems };
}

describe('the way to a token', () => {
  const folder = mkdtempSync(join(tmpdir(), 'token-settings-'));
  const path = join(folder, 'secret');
  writeFileSync(path, `${SECRET}\n`);
  const missing = join(folder, 'missing');

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

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
    expect(read(environment)).toMatchObject({ settings, problems: [] });
  });

  it('is required, and all of them are named', () => {
    const { problems } = read({ MACHINE_CLOUD_TOKEN: ' ' });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^MACHINE_CLOUD_TOKEN is required, or another way/);
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
    expect(read(environment).problems).toEqual([
      `${ways} are different ways to a token: keep one, unset the others`,
    ]);
  });

  it('must be whole: what is missing is named, with what is wrong otherwise', () => {
    const half = { MACHINE_CLOUD_LOGIN_EMAIL: 'me', MACHINE_CLOUD_OAUTH_SCOPE: 'all' };
    expect(read(half).problems).toEqual([
      'MACHINE_CLOUD_LOGIN_EMAIL and MACHINE_CLOUD_OAUTH_SCOPE are different ways to a token: keep one, unset the others',
      'MACHINE_CLOUD_LOGIN_PASSWORD or MACHINE_CLOUD_LOGIN_PASSWORD_FILE is required: the password of the login',
      'MACHINE_CLOUD_OAUTH_TOKEN_URL is required: where OAuth tokens are handed out',
      'MACHINE_CLOUD_OAUTH_CLIENT_ID is required: the client that OAuth tokens are handed out to',
      'MACHINE_CLOUD_OAUTH_CLIENT_SECRET or MACHINE_CLOUD_OAUTH_CLIENT_SECRET_FILE is required: the secret of the OAuth client',
    ]);
    expect(read({ MACHINE_CLOUD_LOGIN_PASSWORD_FILE: path }).problems).toEqual([
      'MACHINE_CLOUD_LOGIN_EMAIL is required: whom to log in',
    ]);
  });

  it.each(['two\nlines', 'Bearer a-token', 'nul\u0000', 'bell\u0007', 'tokén'])(
    'may not be one that no header can carry: %j',
    (token) => {
      expect(read({ MACHINE_CLOUD_TOKEN: token }).problems).toEqual([
        'MACHINE_CLOUD_TOKEN holds a line break, a blank or another character that no token in a header can have',
      ]);
    },
  );

  it.each([
    [{ MACHINE_CLOUD_TOKEN_FILE: missing }, 'MACHINE_CLOUD_TOKEN_FILE names a file that cannot be'],
    [
      { ...LOGIN, MACHINE_CLOUD_LOGIN_PASSWORD_FILE: path },
      'MACHINE_CLOUD_LOGIN_PASSWORD and MACHINE_CLOUD_LOGIN_PASSWORD_FILE are both set: keep one',
    ],
    [
      {
        ...OAUTH,
        MACHINE_CLOUD_OAUTH_CLIENT_SECRET: '',
        MACHINE_CLOUD_OAUTH_CLIENT_SECRET_FILE: missing,
      },
      'MACHINE_CLOUD_OAUTH_CLIENT_SECRET_FILE names a file that cannot be read (ENOENT)',
    ],
    [
      { ...OAUTH, MACHINE_CLOUD_OAUTH_TOKEN_URL: 'http://login.example.com/token' },
      'MACHINE_CLOUD_OAUTH_TOKEN_URL must be https',
    ],
    [
      { ...OAUTH, MACHINE_CLOUD_OAUTH_TOKEN_URL: `https://me:${SECRET}@login.example.com/token` },
      'MACHINE_CLOUD_OAUTH_TOKEN_URL must not carry a user name or password',
    ],
    [
      { ...OAUTH, MACHINE_CLOUD_OAUTH_TOKEN_URL: 'https://login.example.com/token#here' },
      'MACHINE_CLOUD_OAUTH_TOKEN_URL must not carry a fragment',
    ],
  ])('may not be %j', (environment, problem) => {
    const { problems } = read(environment);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
    expect(problems[0]).not.toContain(SECRET);
  });

  it('to an OAuth token may be http on this machine', () => {
    const local = { ...OAUTH, MACHINE_CLOUD_OAUTH_TOKEN_URL: 'http://127.0.0.1:8080/token' };
    expect(read(local).problems).toEqual([]);
  });
});
