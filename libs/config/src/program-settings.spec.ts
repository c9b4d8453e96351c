import { join } from 'node:path';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import { problemsOf } from '../test/problems-of.js';
import { ANOTHER_KEY, CERTIFICATE, KEY_OF_CERTIFICATE } from '../test/tls-files.js';
import { loadTerminalSettings } from './terminal-settings.js';
import type { Environment } from './environment-reader.js';
import { loadIngestSettings } from './ingest-settings.js';
import { loadSandboxSettings } from './sandbox-settings.js';

const BASE = { KAFKA_BROKERS: 'localhost:9092' };

describe('the settings of the terminal', () => {
  it('have a token for each station, and require one beyond loopback', () => {
    const token = 'a-token-of-some-length';
    const TERMINAL_TOKENS_FILE = temporaryFile('tokens.json', { [token]: 'Press hall' });
    const beyond = { ...BASE, TERMINAL_HTTP_HOST: '0.0.0.0' };
    expect(loadTerminalSettings({ ...beyond, TERMINAL_TOKENS_FILE }).access).toEqual({
      kind: 'tokens',
      stations: new Map([[token, 'Press hall']]),
    });
    expect(() => loadTerminalSettings(beyond)).toThrow('TERMINAL_TOKENS_FILE or');
  });

  it('name the headers of a proxy for the station and the operator', () => {
    const TERMINAL_TRUSTED_USER_HEADER = 'X-Station, X-Forwarded-User';
    expect(loadTerminalSettings({ ...BASE, TERMINAL_TRUSTED_USER_HEADER }).access).toEqual({
      kind: 'proxy',
      stationHeader: 'x-station',
      operatorHeader: 'x-forwarded-user',
    });
  });

  it('name the addresses of proxies', () => {
    const TERMINAL_TRUSTED_PROXIES = '10.0.0.0/8, ::1';
    expect(loadTerminalSettings({ ...BASE, TERMINAL_TRUSTED_PROXIES }).trustedProxies).toEqual([
      '10.0.0.0/8',
      '::1',
    ]);
    expect(loadTerminalSettings(BASE).trustedProxies).toEqual([]);
  });

  it.each([
    [
      'short tokens',
      { TERMINAL_TOKENS_FILE: temporaryFile('short.json', { short: 'A' }) },
      'less than 16',
    ],
    [
      'a token without a station',
      { TERMINAL_TOKENS_FILE: temporaryFile('none.json', { ['x'.repeat(16)]: 1 }) },
      'must name a station',
    ],
    [
      'proxies that are no addresses',
      { TERMINAL_TRUSTED_PROXIES: '10.0.0.1, proxy.example' },
      'must be addresses or networks',
    ],
    ['networks that are none', { TERMINAL_TRUSTED_PROXIES: '10.0.0.0/33' }, 'must be addresses'],
    ['no JSON', { TERMINAL_TOKENS_FILE: temporaryFile('no.json', 'secret') }, 'is not JSON'],
    ['shifts that are none', { TERMINAL_SHIFTS: '6-14' }, 'TERMINAL_SHIFTS must be times of day'],
    ['a zone that is none', { TERMINAL_TIME_ZONE: 'Mars' }, 'TERMINAL_TIME_ZONE must be'],
    [
      'a colour that is none',
      {
        TERMINAL_REASONS_FILE: temporaryFile('colour.json', {
          reasons: { 1: { colour: 'url(x)' } },
        }),
      },
      'must be a colour',
    ],
    [
      'a group that is not there',
      { TERMINAL_REASONS_FILE: temporaryFile('group.json', { reasons: { 1: { group: 'G' } } }) },
      'names a group',
    ],
  ])('refuse %s, and never show a value', (_, env, problem) => {
    expect(() => loadTerminalSettings({ ...BASE, ...env })).toThrow(problem);
  });

  it('have colours, names and groups of reasons', () => {
    const looks = {
      groups: [{ group: 'Technical', colour: '#c62828', names: { de: 'Technik' } }],
      reasons: { '22': { group: 'Technical', names: { de: 'Kühlung' } }, '23': {} },
    };
    const TERMINAL_REASONS_FILE = temporaryFile('looks.json', looks);
    expect(loadTerminalSettings({ ...BASE, TERMINAL_REASONS_FILE }).reasonLooks).toEqual(looks);
  });
});

const TOKEN = 'token-of-sixteen-or-more';

const problemsWith = (environment: Environment) =>
  problemsOf(() => loadIngestSettings({ KAFKA_BROKERS: '127.0.0.1:9092', ...environment }));

describe('the senders of ingest', () => {
  const missing = join(temporaryFolder(), 'none');

  function problemsOfSenders(senders: object | string): readonly string[] {
    const content = typeof senders === 'string' ? senders : { senders };
    return problemsWith({ INGEST_SENDERS_FILE: temporaryFile('senders.json', content) });
  }

  it('are named with the field whose file is missing', () => {
    const paths = ['/orders'];
    const callback = {
      ...{ url: 'https://erp.example.com', hmacSecret: TOKEN },
      mappingFile: missing,
    };
    expect(
      problemsOfSenders({
        a: { token: TOKEN, hmacSecretFile: missing, paths },
        b: { token: `${TOKEN}-of-b`, paths, callback },
      }),
    ).toEqual([
      'INGEST_SENDERS_FILE sender a hmacSecretFile names a file that cannot be read (ENOENT)',
      'INGEST_SENDERS_FILE sender b callback mappingFile names a file that cannot be read (ENOENT)',
    ]);
  });

  it.each([
    ['token', { token: TOKEN }],
    ['certificate', { certificateSha256: 'ab'.repeat(32) }],
  ])('must not share a %s, which would let one send as the other', (what, identity) => {
    const sender = { ...identity, paths: ['/orders'] };
    expect(problemsOfSenders({ a: sender, b: sender })).toContain(
      `INGEST_SENDERS_FILE has two senders with the same ${what}`,
    );
  });

  it('are each listed once', () => {
    const sender = JSON.stringify({ token: TOKEN, paths: ['/orders'] });
    expect(problemsOfSenders(`{"senders": {\n "a": ${sender},\n "a": ${sender}\n}}`)).toEqual([
      'INGEST_SENDERS_FILE names a file in which line 3 repeats a name: keep one of the two',
    ]);
  });

  it('do not have a number for the path of a file, without which nothing would be signed', () => {
    const callback = { url: 'https://erp.example.com', hmacSecretFile: 5 };
    expect(problemsOfSenders({ a: { token: TOKEN, paths: ['/orders'], callback } })).toEqual([
      'INGEST_SENDERS_FILE sender a has a callback that must have the path of a file in hmacSecretFile',
    ]);
  });

  it('have each secret in one place', () => {
    const hmacSecretFile = temporaryFile('secret', TOKEN);
    const sender = { hmacSecret: `another-${TOKEN}`, hmacSecretFile, paths: ['/orders'] };
    expect(problemsOfSenders({ a: sender })).toEqual([
      'INGEST_SENDERS_FILE sender a has hmacSecret and hmacSecretFile: keep one',
    ]);
  });
});

describe('the certificate of ingest', () => {
  function problemsOfFiles(cert: string, key: string, ca = CERTIFICATE): readonly string[] {
    return problemsWith({
      INGEST_TLS_CERT_FILE: temporaryFile('cert', cert),
      INGEST_TLS_KEY_FILE: temporaryFile('key', key),
      INGEST_TLS_CLIENT_CA_FILE: temporaryFile('ca', ca),
    });
  }

  it('goes with its key', () => {
    expect(problemsOfFiles(CERTIFICATE, KEY_OF_CERTIFICATE)).toEqual([]);
    expect(problemsOfFiles(CERTIFICATE, ANOTHER_KEY)).toEqual([
      'INGEST_TLS_KEY_FILE names a file whose key is not that of INGEST_TLS_CERT_FILE',
    ]);
  });

  it('is refused with the name of a setting whose file is not PEM', () => {
    expect(problemsOfFiles(KEY_OF_CERTIFICATE, CERTIFICATE, 'nothing')).toEqual([
      'INGEST_TLS_CERT_FILE names a file that holds no certificate in PEM',
      'INGEST_TLS_KEY_FILE names a file that holds no private key in PEM, or an encrypted one',
      'INGEST_TLS_CLIENT_CA_FILE names a file that holds no certificate in PEM',
    ]);
  });
});

describe('loadSandboxSettings', () => {
  it('reads all settings, and sorts the shifts', () => {
    const settings = loadSandboxSettings({
      SANDBOX_HTTP_HOST: '0.0.0.0',
      SANDBOX_HTTP_PORT: '0',
      SANDBOX_MACHINES: '2000',
      SANDBOX_SEED: 'tuesday',
      SANDBOX_TOKEN: 'another-token',
      SANDBOX_LOGIN_EMAIL: 'me@example.com',
      SANDBOX_LOGIN_PASSWORD: 'hunter2',
      SANDBOX_SHIFT_STARTS: '22:30, 06:30',
      SANDBOX_TIME_ZONE: 'Asia/Tokyo',
      CLOCK_SPEED: '60',
      CLOCK_ORIGIN: '1763680000',
      LOG_LEVEL: 'silent',
    });
    expect(settings).toEqual({
      http: { host: '0.0.0.0', port: 0 },
      machines: 2000,
      seed: 'tuesday',
      token: 'another-token',
      login: { email: 'me@example.com', password: 'hunter2' },
      shifts: { timeZone: 'Asia/Tokyo', startTimes: ['06:30', '22:30'] },
      clock: { speed: 60, originSeconds: 1_763_680_000 },
      logLevel: 'silent',
      unsupported: [],
    });
  });

  it('names a misspelt setting, which has no effect', () => {
    const { unsupported } = loadSandboxSettings({ SANDBOX_MACHNES: '3' });
    expect(unsupported).toMatchObject([{ name: 'SANDBOX_MACHNES' }]);
  });

  it.each([
    ['SANDBOX_SHIFT_STARTS', '6:00'],
    ['SANDBOX_SHIFT_STARTS', '06:00,24:00'],
    ['SANDBOX_SHIFT_STARTS', ','],
    ['SANDBOX_TIME_ZONE', 'Mars/Olympus'],
    ['SANDBOX_TOKEN', 'two words'],
    ['SANDBOX_TOKEN', 'two\nlines'],
  ])('refuses %s=%s and names nothing else', (name, value) => {
    const problems = problemsOf(() => loadSandboxSettings({ [name]: value }));
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(`${name} `)).toBe(true);
  });
});
