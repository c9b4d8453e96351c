import { temporaryFile } from '../test/temporary-files.js';
import { loadTerminalSettings } from './terminal-settings.js';

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
