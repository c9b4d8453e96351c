import { type EnvironmentReader } from './environment-reader.js';

/** Where the access token comes from; exactly one way is configured. */
export type TokenSettings = { kind: 'fixed'; token: string } | { kind: 'file'; path: string };

export interface MachineCloudSettings {
  baseUrl: string;
  token: TokenSettings;
  reasonField: 'reasonId' | 'reason';
  machineInfoPath: string;
  timeoutMs: number;
  maxConcurrency: number;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

export function readMachineCloudSettings(env: EnvironmentReader): MachineCloudSettings {
  return {
    baseUrl: readBaseUrl(env),
    token: readToken(env),
    reasonField: env.oneOf('MACHINE_CLOUD_REASON_FIELD', ['reasonId', 'reason'], 'reasonId'),
    machineInfoPath: env.text('MACHINE_CLOUD_MACHINE_INFO_PATH', 'mahcineInfo'),
    timeoutMs: env.integer('MACHINE_CLOUD_TIMEOUT_MS', { default: 10_000, min: 1, max: 600_000 }),
    maxConcurrency: env.integer('MACHINE_CLOUD_MAX_CONCURRENCY', {
      default: 64,
      min: 1,
      max: 4096,
    }),
  };
}

/** https only, http for loopback alone: the token travels in a header. */
function readBaseUrl(env: EnvironmentReader): string {
  const name = 'MACHINE_CLOUD_BASE_URL';
  const raw = env.required(name, 'the address of the Machine Data Service, without /api/v1');
  if (raw === '') return raw;
  const url = URL.canParse(raw) ? new URL(raw) : undefined;
  if (url === undefined) {
    env.problem(name, 'must be a URL such as https://cloud.example.com');
  } else if (url.username !== '' || url.password !== '') {
    env.problem(name, 'must not carry a user name or password');
  } else if (
    url.protocol !== 'https:' &&
    !(url.protocol === 'http:' && LOOPBACK.has(url.hostname))
  ) {
    env.problem(name, 'must be https (http is allowed for localhost, 127.0.0.1 and [::1] alone)');
  }
  return raw.replace(/\/+$/, '');
}

function readToken(env: EnvironmentReader): TokenSettings {
  const token = env.optional('MACHINE_CLOUD_TOKEN');
  const path = env.optional('MACHINE_CLOUD_TOKEN_FILE');
  if (token !== undefined && path !== undefined) {
    env.problem('MACHINE_CLOUD_TOKEN', 'and MACHINE_CLOUD_TOKEN_FILE are both set: keep one');
  }
  if (path !== undefined) {
    env.fileContent('MACHINE_CLOUD_TOKEN_FILE', path);
    return { kind: 'file', path };
  }
  if (token === undefined) {
    env.problem('MACHINE_CLOUD_TOKEN', 'or MACHINE_CLOUD_TOKEN_FILE is required');
  }
  return { kind: 'fixed', token: token ?? '' };
}
