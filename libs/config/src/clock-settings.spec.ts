import { realEpochMs } from '#libs/clock';
import { readClockSettings } from './clock-settings.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';

function read(environment: Environment) {
  const env = new EnvironmentReader(environment);
  return { settings: readClockSettings(env), problems: env.problems };
}

describe('readClockSettings', () => {
  it('runs at real speed from now by default', () => {
    const { settings, problems } = read({});
    expect(problems).toEqual([]);
    expect(settings.speed).toBe(1);
    expect(Math.abs(settings.originSeconds - realEpochMs() / 1000)).toBeLessThan(10);
    expect(Number.isInteger(settings.originSeconds)).toBe(true);
  });

  it('reads speed and origin', () => {
    const { settings, problems } = read({ CLOCK_SPEED: '0.5', CLOCK_ORIGIN: '1763680000' });
    expect(settings).toEqual({ speed: 0.5, originSeconds: 1_763_680_000 });
    expect(problems).toEqual([]);
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
