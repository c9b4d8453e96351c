import { type EnvironmentReader } from './environment-reader.js';
import { readMachineInfoPath } from './machine-info-path.js';
import { readBaseUrl } from './service-url.js';
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

export function readMachineCloudSettings(env: EnvironmentReader): MachineCloudSettings {
  const what = 'the address of the Machine Data Service, without /api/v1';
  const maxRequestsPerSecond = env.positiveNumber('MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND');
  return {
    baseUrl: readBaseUrl(env, 'MACHINE_CLOUD_BASE_URL', what),
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
