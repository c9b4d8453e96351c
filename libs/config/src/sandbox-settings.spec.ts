import { problemsOf } from '../test/problems-of.js';
import { loadSandboxSettings } from './sandbox-settings.js';

describe('loadSandboxSettings', () => {
  it('reads all settings, and sorts the shifts', () => {
    const settings = loadSandboxSettings({
      SANDBOX_HTTP_HOST: '0.0.0.0',
      SANDBOX_HTTP_PORT: '0',
      SANDBOX_MACHINES: '2000',
      SANDBOX_SEED: 'tuesday',
      SANDBOX_TOKEN: 'another-token',
      SANDBOX_TOKENS_FILE: 'tokens.json',
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
      tokensFile: 'tokens.json',
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
    ['SANDBOX_HTTP_HOST', 'http://127.0.0.1'],
    ['SANDBOX_HTTP_PORT', '70000'],
    ['SANDBOX_MACHINES', '0'],
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
