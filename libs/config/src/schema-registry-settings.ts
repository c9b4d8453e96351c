import { FRAMED_OUTPUTS, type FramedOutput } from '#libs/contracts';
import type { EnvironmentReader } from './environment-reader.js';
import { type ProxySettings, readProxySettings } from './proxy-settings.js';
import { isLoopback } from './service-url.js';

export interface SchemaRegistrySettings {
  /** With the path that its API is below. */
  url: string;
  /** Value of `Authorization`. */
  authorization?: string;
  proxy?: ProxySettings;
  /** Published in frames. */
  outputs: readonly FramedOutput[];
}

const URL_NAME = 'KAFKA_SCHEMA_REGISTRY_URL';
const USERNAME = 'KAFKA_SCHEMA_REGISTRY_USERNAME';
const OUTPUTS = 'KAFKA_SCHEMA_REGISTRY_OUTPUTS';
const PASSWORD = 'KAFKA_SCHEMA_REGISTRY_PASSWORD';

/** Undefined without a URL; a login or outputs without one are a problem. */
export function readSchemaRegistrySettings(
  env: EnvironmentReader,
): SchemaRegistrySettings | undefined {
  const login = [USERNAME, PASSWORD, `${PASSWORD}_FILE`].filter((name) => env.isSet(name));
  const outputs = readOutputs(env);
  const given = env.optional(URL_NAME);
  if (given === undefined) {
    const beside = [...login, ...(outputs.length > 0 ? [OUTPUTS] : [])];
    if (beside.length > 0) env.problem(URL_NAME, `is required beside ${beside.join(', ')}`);
    return undefined;
  }
  const fault = faultOf(given, login.length > 0);
  if (fault !== undefined) env.problem(URL_NAME, fault);
  const proxy = readProxySettings(env);
  const authorization = login.length > 0 ? readLogin(env) : undefined;
  return {
    url: given,
    ...(authorization !== undefined && { authorization }),
    ...(proxy && { proxy }),
    outputs,
  };
}

function readOutputs(env: EnvironmentReader): FramedOutput[] {
  const known = Object.keys(FRAMED_OUTPUTS) as FramedOutput[];
  const given = env.list(OUTPUTS, []);
  const isKnown = (name: string): boolean => known.some((output) => output === name);
  if (!given.every(isKnown)) env.problem(OUTPUTS, `must be of ${known.join(', ')}`);
  return known.filter((output) => given.includes(output));
}

function readLogin(env: EnvironmentReader): string {
  const username = env.required(USERNAME, `${PASSWORD} is set`);
  const password = env.requiredSecret(PASSWORD, `${USERNAME} is set`);
  if (username.includes(':')) env.problem(USERNAME, 'must not hold a colon');
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Schemas are no secrets: as Kafka itself, the registry may be reached in the clear, but not with a password. */
function faultOf(raw: string, hasLogin: boolean): string | undefined {
  const url = URL.canParse(raw) && !/\s/.test(raw) ? new URL(raw) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return 'must be one URL such as https://registry.example.com:8081';
  }
  if (url.username !== '' || url.password !== '') {
    return `must not carry a user name or password: set ${USERNAME} and ${PASSWORD}`;
  }
  if (hasLogin && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return 'must be https where a login is sent to it';
  }
  return /[?#]/.test(raw) ? 'must not carry a query or fragment' : undefined;
}
