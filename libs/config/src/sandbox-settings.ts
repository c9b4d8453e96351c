import { readClockSettings } from './clock-settings.js';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';
import { listenAddress } from './http-settings.js';
import { readShifts } from './shift-settings.js';
import { readBearer } from './token-settings.js';

export type SandboxSettings = ReturnType<typeof readSandboxSettings>;

/**
 * @param readFiles parses the settings' files; its problems are reported with the others
 * @throws SettingsError with all problems
 */
export function loadSandboxSettings<T>(
  environment: Environment,
  readFiles?: (env: EnvironmentReader, settings: SandboxSettings) => T,
) {
  return readSettings(environment, (env) => {
    const settings = readSandboxSettings(env);
    const files = readFiles?.(env, settings);
    return { ...settings, files, unsupported: env.ineffectiveSettings() };
  });
}

function readSandboxSettings(env: EnvironmentReader) {
  const { host, port } = listenAddress(env, 'SANDBOX', 3100);
  return {
    http: { host, port },
    machines: env.integer('SANDBOX_MACHINES', { default: 12, min: 1, max: 1_000_000 }),
    seed: env.text('SANDBOX_SEED', 'machine-bridge'),
    /** A token with all scopes. */
    token: readBearer(env, 'SANDBOX_TOKEN', 'sandbox-token'),
    login: {
      email: env.text('SANDBOX_LOGIN_EMAIL', 'operator@example.com'),
      password: env.text('SANDBOX_LOGIN_PASSWORD', 'sandbox-password'),
    },
    shifts: readShifts(env, 'SANDBOX_SHIFT_STARTS', 'SANDBOX_TIME_ZONE'),
    clock: readClockSettings(env),
    logLevel: env.logLevel(),
    /** JSON of a scripted timeline, which replaces the simulation; not validated yet. */
    timeline: env.json('SANDBOX_TIMELINE_FILE'),
  };
}
