import { type ClockOptions } from '#libs/clock';
import { readClockSettings } from './clock-settings.js';
import { type Environment, EnvironmentReader } from './environment-reader.js';
import { LOG_LEVELS, type LogLevel } from './log-level.js';
import { SettingsError } from './settings-error.js';
import { isTimeZone } from './time-zone.js';

export interface SandboxSettings {
  http: { host: string; port: number };
  machines: number;
  seed: string;
  /** Holds all scopes. */
  token: string;
  /** JSON `{token: [scopes]}`. */
  tokensFile?: string;
  /** A scripted timeline in place of the simulation. */
  timelineFile?: string;
  login: { email: string; password: string };
  shifts: { timeZone: string; startTimes: string[] };
  clock: Required<ClockOptions>;
  logLevel: LogLevel;
}

/** @throws SettingsError naming everything that is wrong */
export function loadSandboxSettings(environment: Environment): SandboxSettings {
  const env = new EnvironmentReader(environment);
  const tokensFile = env.optional('SANDBOX_TOKENS_FILE');
  const timelineFile = env.optional('SANDBOX_TIMELINE_FILE');
  const settings: SandboxSettings = {
    http: {
      host: env.text('SANDBOX_HTTP_HOST', '127.0.0.1'),
      port: env.integer('SANDBOX_HTTP_PORT', { default: 3100, max: 65_535 }),
    },
    machines: env.integer('SANDBOX_MACHINES', { default: 12, min: 1, max: 1_000_000 }),
    seed: env.text('SANDBOX_SEED', 'machine-bridge'),
    token: env.text('SANDBOX_TOKEN', 'sandbox-token'),
    ...(tokensFile !== undefined && { tokensFile }),
    ...(timelineFile !== undefined && { timelineFile }),
    login: {
      email: env.text('SANDBOX_LOGIN_EMAIL', 'operator@example.com'),
      password: env.text('SANDBOX_LOGIN_PASSWORD', 'sandbox-password'),
    },
    shifts: readShifts(env),
    clock: readClockSettings(env),
    logLevel: env.oneOf<LogLevel>('LOG_LEVEL', LOG_LEVELS, 'info'),
  };
  if (env.problems.length > 0) throw new SettingsError(env.problems);
  return settings;
}

function readShifts(env: EnvironmentReader): SandboxSettings['shifts'] {
  const startTimes = env.list('SANDBOX_SHIFT_STARTS', ['06:00', '14:00', '22:00']);
  if (
    startTimes.length === 0 ||
    !startTimes.every((time) => /^([01]\d|2[0-3]):[0-5]\d$/.test(time))
  ) {
    env.problem('SANDBOX_SHIFT_STARTS', 'must be times of day such as 06:00,14:00,22:00');
  }
  const timeZone = env.text('SANDBOX_TIME_ZONE', 'UTC');
  if (!isTimeZone(timeZone)) {
    env.problem('SANDBOX_TIME_ZONE', 'must be an IANA time zone such as Europe/Berlin');
  }
  return { timeZone, startTimes: [...startTimes].sort() };
}
