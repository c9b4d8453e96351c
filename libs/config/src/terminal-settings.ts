import { isIP } from 'node:net';
import { isJsonObject } from '#libs/contracts';
import { readClockSettings } from './clock-settings.js';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';
import { readKafkaSettings } from './kafka-settings.js';
import { listenAddress } from './http-settings.js';
import { readShifts } from './shift-settings.js';

/** How a client of the terminal is identified as a station. */
export type TerminalAccess =
  /** Every client on the loopback interface is one station. */
  | { kind: 'open'; station: string }
  /** Clients send a station's token. */
  | { kind: 'tokens'; stations: ReadonlyMap<string, string> }
  /** A proxy admits clients. One of its headers names the station, a second one the operator; in lower case. */
  | { kind: 'proxy'; stationHeader: string; operatorHeader?: string };

interface Look {
  colour?: string;
  /** By language. */
  names?: Record<string, string>;
}

/** Groups, colours and names of reasons, from `TERMINAL_REASONS_FILE`. */
interface ReasonLooks {
  groups: (Look & { group: string })[];
  reasons: Record<string, Look & { group?: string }>;
}

export type TerminalSettings = ReturnType<typeof readTerminalSettings>;

const TOKENS_FILE = 'TERMINAL_TOKENS_FILE';
const USER_HEADER = 'TERMINAL_TRUSTED_USER_HEADER';
const TRUSTED_PROXIES = 'TERMINAL_TRUSTED_PROXIES';
const REASONS_FILE = 'TERMINAL_REASONS_FILE';
const OPEN_STATION = 'local';
/** A valid token is admitted also after many wrong ones: only its length protects it from being guessed. */
const SHORTEST_TOKEN = 16;
const HEADER_NAME = /^[a-z0-9-]+$/;
/** Fits into a URI path and a header. */
const STATION = /^[^\p{Cc}\p{Cs}]{1,100}$/u;
/** Hexadecimal or named colours of CSS; other CSS must not be injected. */
const COLOUR = /^(#[0-9a-fA-F]{3,8}|[a-z]+)$/;

export function loadTerminalSettings(environment: Environment): TerminalSettings {
  return readSettings(environment, readTerminalSettings);
}

function readTerminalSettings(env: EnvironmentReader) {
  const { isLoopback, ...http } = listenAddress(env, 'TERMINAL', 3200);
  return {
    kafka: readKafkaSettings(env),
    http,
    access: readAccess(env, isLoopback),
    /** Addresses and networks (CIDR) whose `X-Forwarded-For` is trusted. */
    trustedProxies: readTrustedProxies(env),
    stopThresholdSeconds: env.integer('TERMINAL_STOP_THRESHOLD_SECONDS', {
      default: 120,
      max: 86_400,
    }),
    reasonLooks: readReasonLooks(env),
    shifts: readShifts(env, 'TERMINAL_SHIFTS', 'TERMINAL_TIME_ZONE'),
    clock: readClockSettings(env),
    logLevel: env.logLevel(),
    // last, after all settings have been read
    unsupported: env.ineffectiveSettings(),
  };
}

function readAccess(env: EnvironmentReader, isLoopback: boolean): TerminalAccess {
  const hasTokens = env.isSet(TOKENS_FILE);
  if (hasTokens && env.isSet(USER_HEADER)) {
    env.refuse(TOKENS_FILE, `and ${USER_HEADER} are different ways in: keep one`);
  }
  if (hasTokens) return { kind: 'tokens', stations: readTokens(env) };
  if (env.isSet(USER_HEADER)) return readProxy(env);
  if (!isLoopback) {
    env.refuse(
      TOKENS_FILE,
      `or ${USER_HEADER} is required when TERMINAL_HTTP_HOST is not loopback`,
    );
  }
  return { kind: 'open', station: OPEN_STATION };
}

function readProxy(env: EnvironmentReader): TerminalAccess {
  const names = env.list(USER_HEADER, []).map((name) => name.toLowerCase());
  const [stationHeader = '', operatorHeader] = names;
  if (names.length === 0 || names.length > 2 || !names.every((name) => HEADER_NAME.test(name))) {
    env.refuse(
      USER_HEADER,
      'must name a header with the station, and may name a second one with the operator, after a comma',
    );
  }
  return { kind: 'proxy', stationHeader, ...(operatorHeader !== undefined && { operatorHeader }) };
}

function readTrustedProxies(env: EnvironmentReader): string[] {
  const networks = env.list(TRUSTED_PROXIES, []);
  if (networks.every(isNetwork)) return networks;
  env.refuse(TRUSTED_PROXIES, 'must be addresses or networks such as 10.0.0.0/8, after commas');
  return [];
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  return isIP(address) > 0 && isPrefix && more.length === 0;
}

function readTokens(env: EnvironmentReader): ReadonlyMap<string, string> {
  const json = env.json(TOKENS_FILE);
  if (json === undefined) return new Map();
  const entries = isJsonObject(json) ? Object.entries(json) : [];
  if (entries.length === 0) {
    env.refuse(TOKENS_FILE, 'must hold a JSON object {"<token>": "<station>"} that is not empty');
  }
  const stations = new Map<string, string>();
  for (const [token, station] of entries) {
    if (token.length < SHORTEST_TOKEN) {
      env.refuse(TOKENS_FILE, `holds a token of less than ${SHORTEST_TOKEN} characters`);
    }
    if (typeof station === 'string' && STATION.test(station)) stations.set(token, station);
    else env.refuse(TOKENS_FILE, 'must name a station of 1 to 100 characters for each token');
  }
  return stations;
}

function readReasonLooks(env: EnvironmentReader): ReasonLooks {
  const json = env.isSet(REASONS_FILE) ? env.json(REASONS_FILE) : {};
  const looks: ReasonLooks = { groups: [], reasons: {} };
  if (json === undefined) return looks;
  const { groups = [], reasons = {} } = isJsonObject(json) ? json : { groups: undefined };
  if (!Array.isArray(groups) || !isJsonObject(reasons) || !isJsonObject(json)) {
    env.refuse(REASONS_FILE, 'must hold a JSON object {"groups": [...], "reasons": {...}}');
    return looks;
  }
  for (const [index, group] of groups.entries()) {
    const look = readLook(env, `groups[${index}]`, group);
    const name = isJsonObject(group) ? group['group'] : undefined;
    if (typeof name === 'string' && name !== '') looks.groups.push({ group: name, ...look });
    else env.refuse(REASONS_FILE, `groups[${index}] must have its name in "group"`);
  }
  for (const [code, reason] of Object.entries(reasons)) {
    const look = readLook(env, `reasons.${code}`, reason);
    const group = isJsonObject(reason) ? reason['group'] : undefined;
    const isKnown = looks.groups.some((known) => known.group === group);
    if (group !== undefined && !isKnown) {
      env.refuse(REASONS_FILE, `reasons.${code} names a group that is not in "groups"`);
    }
    looks.reasons[code] = { ...look, ...(typeof group === 'string' && { group }) };
  }
  return looks;
}

function readLook(env: EnvironmentReader, where: string, value: unknown): Look {
  const { colour, names } = isJsonObject(value) ? value : {};
  const look: Look = {};
  if (colour !== undefined) {
    if (typeof colour === 'string' && COLOUR.test(colour)) look.colour = colour;
    else env.refuse(REASONS_FILE, `${where}.colour must be a colour such as #c62828`);
  }
  if (names !== undefined) {
    if (isJsonObject(names) && Object.values(names).every((name) => typeof name === 'string')) {
      look.names = names as Record<string, string>;
    } else env.refuse(REASONS_FILE, `${where}.names must hold names by language`);
  }
  return look;
}
