import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { temporaryFile, temporaryFolder } from '../test/temporary-files.js';
import {
  EnvironmentReader,
  isFromFile,
  loadSettingsFile,
  readEnvironment,
} from './environment-reader.js';
import { loadBridgeSettings } from './bridge-settings.js';
import { loadIngestSettings } from './ingest-settings.js';
import { misspeltSettings } from './misspelt-settings.js';
import { loadTerminalSettings } from './terminal-settings.js';

const SECRET = 'hunter2-hunter2';

describe('EnvironmentReader', () => {
  it.each([undefined, '', '   '])('treats %j as absent in every method', (value) => {
    const env = new EnvironmentReader({ NAME: value, NAME_FILE: value });
    expect(env.optional('NAME')).toBeUndefined();
    expect(env.text('NAME', 'fallback')).toBe('fallback');
    expect(env.integer('NAME', { default: 5 })).toBe(5);
    expect(env.positiveNumber('NAME')).toBeUndefined();
    expect(env.flag('NAME', true)).toBe(true);
    expect(env.oneOf('NAME', ['a', 'b'], 'b')).toBe('b');
    expect(env.list('NAME', ['a'])).toEqual(['a']);
    expect(env.secret('NAME')).toBeUndefined();
    expect(env.problems).toEqual([]);
    env.required('NAME', 'what it is for');
    expect(env.problems).toEqual(['NAME is required: what it is for']);
  });

  it('removes white space around a value', () => {
    const env = new EnvironmentReader({ NAME: ' 7 ', LIST: ' a , ,b, ' });
    expect(env.integer('NAME', { default: 5 })).toBe(7);
    expect(env.list('LIST', [])).toEqual(['a', 'b']);
  });

  it.each(['"a"', "'a'", '""', ' "a b" '])(
    'refuses %s, whose quotes would belong to the value',
    (value) => {
      const env = new EnvironmentReader({ NAME: value, PASSWORD: value, HALF: '"a' });
      env.text('NAME', '');
      expect(env.secret('PASSWORD')).toBe(value.trim());
      expect(env.optional('HALF')).toBe('"a');
      expect(env.problems).toEqual([
        'NAME is in quotes, which belong to its value here: leave them out',
      ]);
    },
  );

  it.each(['-1', '1.5', '1e3', '0x10', 'ten', '10s', '101', '99999999999999999999'])(
    'refuses %s where a whole number from 0 to 100 belongs',
    (value) => {
      const env = new EnvironmentReader({ NAME: value });
      expect(env.integer('NAME', { default: 5, max: 100 })).toBe(5);
      expect(env.problems).toEqual(['NAME must be a whole number from 0 to 100']);
    },
  );

  it.each(['0', '-2', 'fast', 'Infinity', 'NaN', '1e3', '0x10', '1,5', '1'.repeat(400)])(
    'refuses %s where a number above 0 belongs',
    (value) => {
      const env = new EnvironmentReader({ NAME: value });
      expect(env.positiveNumber('NAME')).toBeUndefined();
      expect(env.problems).toEqual(['NAME must be a number above 0']);
    },
  );

  it('reads fractions, up to the maximum', () => {
    const env = new EnvironmentReader({ SOME: '.5', MORE: '2.25', MOST: '10', TOO_MUCH: '10.1' });
    const read = (name: string) => env.positiveNumber(name, 10);
    expect(['SOME', 'MORE', 'MOST', 'TOO_MUCH'].map(read)).toEqual([0.5, 2.25, 10, undefined]);
    expect(env.problems).toEqual(['TOO_MUCH must be a number above 0, 10 at most']);
  });

  it('reads flags in any case and nothing else as a flag', () => {
    const env = new EnvironmentReader({ ON: 'TRUE', OFF: 'false', ODD: 'yes' });
    expect([env.flag('ON', false), env.flag('OFF', true)]).toEqual([true, false]);
    expect(env.problems).toEqual([]);
    expect(env.flag('ODD', true)).toBe(true);
    expect(env.problems).toEqual(['ODD must be true or false']);
  });

  it('takes a secret from the environment or, trimmed, from its _FILE', () => {
    const path = temporaryFile('secret', `${SECRET}\n`);
    const env = new EnvironmentReader({ DIRECT: SECRET, TWIN_FILE: path });
    expect(env.secret('DIRECT')).toBe(SECRET);
    expect(env.secret('TWIN')).toBe(SECRET);
    expect(env.problems).toEqual([]);
  });

  it('refuses a secret given both ways', () => {
    const env = new EnvironmentReader({ NAME: SECRET, NAME_FILE: temporaryFile('twin', SECRET) });
    env.secret('NAME');
    expect(env.problems).toEqual(['NAME and NAME_FILE are both set: keep one']);
  });

  it('reports why a file has no secret, without its path', () => {
    const folder = temporaryFolder();
    const env = new EnvironmentReader({
      EMPTY_FILE: temporaryFile('empty', ' \n'),
      MISSING_FILE: join(folder, SECRET),
      FOLDER_FILE: folder,
    });
    expect(['EMPTY', 'MISSING', 'FOLDER'].map((name) => env.secret(name))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(env.problems).toEqual([
      'EMPTY_FILE names a file that is empty',
      'MISSING_FILE names a file that cannot be read (ENOENT)',
      'FOLDER_FILE names a file that cannot be read (EISDIR)',
    ]);
  });

  it('says of a device without an end, and of a pipe that nobody writes to, why they give no secret', () => {
    const pipe = join(temporaryFolder(), 'pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
    const env = new EnvironmentReader({ ENDLESS_FILE: '/dev/zero', SILENT_FILE: pipe });
    expect(['ENDLESS', 'SILENT'].map((name) => env.secret(name))).toEqual([undefined, undefined]);
    expect(env.problems).toEqual([
      'ENDLESS_FILE names a file that cannot be read (it has more than 64 MiB, or no end)',
      'SILENT_FILE names a file that is empty',
    ]);
  });

  it('takes a secret from a pipe, as shells give what a command prints', () => {
    const pipe = join(temporaryFolder(), 'pipe');
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
    spawn('sh', ['-c', 'sleep 0.2; (printf hunter2-; sleep 0.2; printf hunter2) > "$0"', pipe]);
    const env = new EnvironmentReader({ TWIN_FILE: pipe });
    expect(env.secret('TWIN')).toBe(SECRET);
    expect(env.problems).toEqual([]);
  });

  it('never quotes a value: it may be a secret in the wrong place', () => {
    const env = new EnvironmentReader({ NAME: SECRET });
    env.integer('NAME', { default: 1 });
    env.positiveNumber('NAME');
    env.flag('NAME', true);
    env.oneOf('NAME', ['a'], 'a');
    env.fileContent('NAME', SECRET);
    expect(env.problems).toHaveLength(5);
    expect(env.problems.join('\n')).not.toContain(SECRET);
  });
});

describe('loadSettingsFile', () => {
  const NAMES = ['SET_IN_BOTH', 'EMPTY_IN_ENVIRONMENT', 'SET_IN_FILE'] as const;
  afterEach(() => {
    for (const name of NAMES) Reflect.deleteProperty(process.env, name);
  });

  it('adds settings that are absent or empty in the environment', () => {
    Object.assign(process.env, { SET_IN_BOTH: 'environment', EMPTY_IN_ENVIRONMENT: ' ' });
    const lines = NAMES.map((name) => `${name}=file\n`);
    loadSettingsFile(temporaryFile('bridge.env', lines.join('')));
    const environment = readEnvironment();
    expect(NAMES.map((name) => environment[name])).toEqual(['environment', 'file', 'file']);
    expect(NAMES.map((name) => isFromFile(name))).toEqual([false, true, true]);
  });

  it('ignores lines without =, but not the lines after them', () => {
    const text =
      'words\r\nSET_IN_BOTH=a\r\n\nEMPTY_IN_ENVIRONMENT\n  two words\n export SET_IN_FILE=b';
    loadSettingsFile(temporaryFile('lines.env', text));
    expect(NAMES.map((name) => readEnvironment()[name])).toEqual(['a', undefined, 'b']);
  });
});

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
