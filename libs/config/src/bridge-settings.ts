import { type Flow, FLOWS } from '#libs/contracts';
import { readClockSettings } from './clock-settings.js';
import {
  type Environment,
  EnvironmentReader,
  type IntegerBounds,
  isFromFile,
  problemsOf,
  readSettings,
  type UnsupportedSetting,
} from './environment-reader.js';
import { readErpAccess, readErpSettings } from './erp-settings.js';
import { readHttpSettings } from './http-settings.js';
import { readKafkaSettings, readSchemaRegistrySettings } from './kafka-settings.js';
import { readProxySettings } from './proxy-settings.js';
import { readServiceUrl } from './service-url.js';
import { readToken } from './token-settings.js';
import { readTracingSettings } from './tracing-settings.js';

/** setTimeout overflows above 2^31 - 1 ms, and then fires at once. */
const LONGEST_TIMER_SECONDS = 2_147_483;

/** Ten years: a longer span was probably given in another unit. */
const LONGEST_SPAN_SECONDS = 315_360_000;
/** A postponed reason delays its machine; a start further ahead is a mistake. */
const LARGEST_SKEW_SECONDS = 86_400;
/** A message may name this many. */
const MOST_MACHINES = 10_000;

/** The settings of the bridge, see docs/operations.md. `…Seconds` is time of the clock, `…Ms` real time. */
export type BridgeSettings = ReturnType<typeof readBridgeSettings>;

export function loadBridgeSettings(environment: Environment): BridgeSettings {
  return readSettings(environment, (env) => {
    const settings = readBridgeSettings(env);
    return { ...settings, unsupported: [...settings.unsupported, ...env.ineffectiveSettings()] };
  });
}

/** Only the flows of `BRIDGE_FLOWS`, for the commands. */
export function loadFlows(environment: Environment): ReadonlySet<Flow> {
  return readSettings(environment, readFlows);
}

/** A setting of the bridge and the source of its value; secrets are masked. */
interface SettingDescription {
  name: string;
  /** Null where it is not set and has no default. */
  value: string | null;
  source: 'environment' | 'file' | 'default';
}

/** All settings that the bridge reads, in that order, and all their problems. */
export function describeBridgeSettings(environment: Environment): {
  settings: SettingDescription[];
  problems: readonly string[];
} {
  const env = new EnvironmentReader(environment);
  readBridgeSettings(env);
  const settings = [...env.settingsRead].map(([name, fallback = '']): SettingDescription => {
    const given = environment[name]?.trim() ?? '';
    if (given === '') return { name, value: fallback === '' ? null : fallback, source: 'default' };
    return {
      name,
      value: maskSecrets(name, given),
      source: isFromFile(name) ? 'file' : 'environment',
    };
  });
  return { settings, problems: problemsOf(env) };
}

const SECRET = /(TOKEN|PASSWORD|SECRET|HEADERS)$/;

const ADDRESS = /(BROKERS|URL|ENDPOINT|PROXY)$/i;

/**
 * Masks secrets. An address may carry a login, with an @ or a / in its password and without a scheme, or a key in its
 * query. Other settings may contain an address.
 */
function maskSecrets(name: string, value: string): string {
  if (SECRET.test(name)) return '********';
  if (!ADDRESS.test(name)) return value.replace(/\/\/.*@/s, '//********@');
  const withoutLogin = value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1********@');
  return withoutLogin.replace(/\?.+$/s, '?********');
}

function readBridgeSettings(env: EnvironmentReader) {
  /** Settings that are set but have no effect: the log reports them. */
  const unsupported: UnsupportedSetting[] = [];
  const erp = readErpSettings(env);
  return {
    kafka: readKafkaSettings(env),
    /** Undefined: values in Avro or Protobuf are refused. */
    schemaRegistry: readSchemaRegistrySettings(env),
    machineCloud: readMachineCloudSettings(env),
    http: readHttpSettings(env),
    flows: readFlows(env),
    clock: readClockSettings(env),
    polling: {
      intervalSeconds: readSpan(env, 'POLL_INTERVAL_SECONDS', { default: 60, min: 1 }),
      staleAfterSeconds: readSpan(env, 'STALE_AFTER_SECONDS', { default: 300, min: 1 }),
      settleSeconds: readSpan(env, 'SETTLE_SECONDS', { default: 300 }),
      backfillOnFirstStartSeconds: readSpan(env, 'BACKFILL_ON_FIRST_START_SECONDS', { default: 0 }),
    },
    directoryRefreshSeconds: readSpan(env, 'DIRECTORY_REFRESH_SECONDS', { default: 300, min: 1 }),
    reasonsRefreshSeconds: readSpan(env, 'REASONS_REFRESH_SECONDS', { default: 3600, min: 1 }),
    downtimeReasonMaxSkewSeconds: env.integer('DOWNTIME_REASON_MAX_SKEW_SECONDS', {
      default: 120,
      max: LARGEST_SKEW_SECONDS,
    }),
    workOrderList: {
      maxMachines: env.integer('WORK_ORDER_LIST_MAX_MACHINES', {
        default: 100,
        min: 1,
        max: MOST_MACHINES,
      }),
      lingerMs: env.integer('WORK_ORDER_LIST_LINGER_MS', { default: 20, max: 60_000 }),
    },
    outcomeDeferredAfterSeconds: env.integer('OUTCOME_DEFERRED_AFTER_SECONDS', {
      default: 60,
      max: LONGEST_TIMER_SECONDS,
    }),
    erp,
    /** By the name of the enrichment rule. */
    erpAccess: readErpAccess(env, erp.enrichment),
    logLevel: env.logLevel(),
    /** Undefined: no spans are exported. */
    tracing: readTracingSettings(env, unsupported),
    unsupported,
  };
}

function readSpan(env: EnvironmentReader, name: string, bounds: IntegerBounds): number {
  return env.integer(name, { max: LONGEST_SPAN_SECONDS, ...bounds });
}

function readFlows(env: EnvironmentReader): ReadonlySet<Flow> {
  const flows = new Set<Flow>();
  for (const name of env.list('BRIDGE_FLOWS', FLOWS)) {
    const flow = FLOWS.find((candidate) => candidate === name);
    if (flow === undefined) env.refuse('BRIDGE_FLOWS', `must be of ${FLOWS.join(', ')}`);
    else flows.add(flow);
  }
  if (env.list('BRIDGE_FLOWS', FLOWS).length === 0)
    env.refuse('BRIDGE_FLOWS', 'must name at least one flow');
  return flows;
}

const MACHINE_INFO_PATH = 'MACHINE_CLOUD_MACHINE_INFO_PATH';
const PATH_SEGMENTS = /^\/?[A-Za-z0-9._~-]+(\/[A-Za-z0-9._~-]+)*$/;

export function readMachineCloudSettings(env: EnvironmentReader) {
  return {
    /** For all requests to the service; undefined: no limit. */
    maxRequestsPerSecond: env.positiveNumber('MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND'),
    proxy: readProxySettings(env),
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
  };
}

/** Removes slashes at the end, because paths are appended. */
function readBaseUrl(env: EnvironmentReader): string {
  const name = 'MACHINE_CLOUD_BASE_URL';
  const what = 'the address of the Machine Data Service, without /api/v1';
  const url = readServiceUrl(env, name, what).replace(/\/+$/, '');
  if (url.includes('?')) env.refuse(name, 'must not carry a query');
  if (/\/api\/v\d+$/i.test(url)) {
    env.refuse(name, 'must not end in /api/v1: leave that away, the bridge adds it');
  }
  return url;
}

/** The path of the machine directory, below /api/v1. */
function readMachineInfoPath(env: EnvironmentReader): string {
  const path = env.text(MACHINE_INFO_PATH, 'mahcineInfo');
  const climbs = path.split('/').some((segment) => segment === '.' || segment === '..');
  if (climbs || !PATH_SEGMENTS.test(path)) {
    env.refuse(
      MACHINE_INFO_PATH,
      'must be a path of letters, digits, dots, dashes and underscores',
    );
  } else if (/^\/?api\/v\d+(\/|$)/i.test(path)) {
    env.refuse(
      MACHINE_INFO_PATH,
      'must not begin with /api/v1: leave that away, the bridge adds it',
    );
  }
  return path;
}
