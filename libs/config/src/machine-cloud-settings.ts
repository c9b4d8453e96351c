import { type EnvironmentReader } from './environment-reader.js';
import { readServiceUrl } from './service-url.js';
import { readToken, type TokenSettings } from './token-settings.js';

export interface MachineCloudSettings {
  baseUrl: string;
  token: TokenSettings;
  reasonField: 'reasonId' | 'reason';
  machineInfoPath: string;
  timeoutMs: number;
  maxConcurrency: number;
  /** Of all requests to the service together; absent: no limit. */
  maxRequestsPerSecond?: number;
}

const MACHINE_INFO_PATH = 'MACHINE_CLOUD_MACHINE_INFO_PATH';
const PATH_SEGMENTS = /^\/?[A-Za-z0-9._~-]+(\/[A-Za-z0-9._~-]+)*$/;

export function readMachineCloudSettings(env: EnvironmentReader): MachineCloudSettings {
  const maxRequestsPerSecond = env.positiveNumber('MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND');
  return {
    baseUrl: readBaseUrl(env),
    token: readToken(env),
    reasonField: env.oneOf('MACHINE_CLOUD_REASON_FIELD', ['reasonId', 'reason'], 'reasonId'),
    machineInfoPath: readMachineInfoPath(env),
    timeoutMs: env.integer('MACHINE_CLOUD_TIMEOUT_MS', { default: 10_000, min: 1, max: 600_000 }),
    maxConcurrency: env.integer('MACHINE_CLOUD_MAX_CONCURRENCY', {
      default: 64,
      min: 1,
      max: 4096,
    }),
    ...(maxRequestsPerSecond !== undefined && { maxRequestsPerSecond }),
  };
}

/** Without slashes at its end: paths are added to it. */
function readBaseUrl(env: EnvironmentReader): string {
  const name = 'MACHINE_CLOUD_BASE_URL';
  const what = 'the address of the Machine Data Service, without /api/v1';
  const url = readServiceUrl(env, name, what).replace(/\/+$/, '');
  if (url.includes('?')) env.problem(name, 'must not carry a query');
  if (/\/api\/v\d+$/i.test(url)) {
    env.problem(name, 'must not end in /api/v1: leave that away, the bridge adds it');
  }
  return url;
}

/** The path of the machine directory, below /api/v1. */
function readMachineInfoPath(env: EnvironmentReader): string {
  const path = env.text(MACHINE_INFO_PATH, 'mahcineInfo');
  const climbs = path.split('/').some((segment) => segment === '.' || segment === '..');
  if (climbs || !PATH_SEGMENTS.test(path)) {
    env.problem(
      MACHINE_INFO_PATH,
      'must be a path of letters, digits, dots, dashes and underscores',
    );
  } else if (/^\/?api\/v\d+(\/|$)/i.test(path)) {
    env.problem(
      MACHINE_INFO_PATH,
      'must not begin with /api/v1: leave that away, the bridge adds it',
    );
  }
  return path;
}
