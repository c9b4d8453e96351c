import {
  type EnrichmentRule,
  EnrichmentRules,
  EquipmentMap,
  equipmentMapFormat,
  parseEnrichmentRules,
  parseEquipmentMap,
  parseOrderMapping,
  type SecretPlace,
} from '#libs/erp-formats';
import { expressionFault } from '#libs/expressions';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';
import type { TokenSettings } from './token-settings.js';

/** A day: a larger skew would accept any time. */
const LARGEST_SKEW_SECONDS = 86_400;

export type ErpSettings = ReturnType<typeof readErpSettings>;

/** Only the ERP settings, for the commands. @throws SettingsError with all problems */
export function loadErpSettings(environment: Environment): ErpSettings {
  return readSettings(environment, readErpSettings);
}

const ENRICHMENT_FILE = 'ERP_ENRICHMENT_FILE';

export function readErpSettings(env: EnvironmentReader) {
  // `config check` prints the settings in the order in which they are read
  const timeZone = env.timeZone('ERP_TIME_ZONE');
  const commandMaxSkewSeconds = env.integer('COMMAND_MAX_SKEW_SECONDS', {
    default: 300,
    max: LARGEST_SKEW_SECONDS,
  });
  const map = readFile(env, 'EQUIPMENT_MAP_FILE', 'is no equipment map', (content, path) => ({
    map: EquipmentMap.of(parseEquipmentMap(content, equipmentMapFormat(path))),
    file: { path, content },
  }));
  const mapping = readFile(env, 'ERP_MAPPING_FILE', 'is no mapping', (content, path) =>
    parseOrderMapping(content, formatOf(path), expressionFault),
  );
  const fault = 'is no list of enrichment rules';
  const rules = readFile(env, ENRICHMENT_FILE, fault, (content, path) =>
    parseEnrichmentRules(content, formatOf(path)),
  );
  return {
    /** IANA zone of the ERP's local times. */
    timeZone,
    /** Limit for `issuedAt` and `changedAt` ahead of the clock. */
    commandMaxSkewSeconds,
    /** Maps work centres to machines. Without a file, the work centre is the machineId. */
    equipmentMap: map?.map ?? EquipmentMap.empty(),
    /** Source of the map, to detect changes; undefined without a file. */
    equipmentMapFile: map?.file,
    /** Expressions for formats without an adapter, each compiled once to check it; empty without a file. */
    mapping: mapping ?? [],
    /** Rules for thin events that a GET completes; empty without a file. */
    enrichment: new EnrichmentRules(rules),
  };
}

function formatOf(path: string): 'json' | 'yaml' {
  return /\.ya?ml$/i.test(path) ? 'yaml' : 'json';
}

/** Undefined where no file is named, or its content is invalid. */
function readFile<T>(
  env: EnvironmentReader,
  name: string,
  fault: string,
  parse: (content: string, path: string) => T,
): T | undefined {
  const [path, content] = [env.optional(name), env.file(name)];
  if (path === undefined || content === undefined) return undefined;
  try {
    return parse(content, path);
  } catch (error) {
    env.refuse(name, `${fault}: ${(error as Error).message}`);
    return undefined;
  }
}

type ErpCredentials =
  | { kind: 'none' }
  | { kind: 'basic'; username: string; password: string }
  | Exclude<TokenSettings, { kind: 'login' }>;

/** Secrets for the requests of an enrichment rule. */
export interface ErpAccess {
  credentials: ErpCredentials;
  /** PEM. */
  ca: string | undefined;
}

/** Secrets and certificates by the name of the rule. Only the bridge reads them, because it makes the requests. */
export function readErpAccess(
  env: EnvironmentReader,
  { all }: EnrichmentRules,
): ReadonlyMap<string, ErpAccess> {
  return new Map(
    all.map((rule) => {
      const { name, caFile } = rule;
      const ca =
        caFile === undefined
          ? undefined
          : env.fileContent(`${ENRICHMENT_FILE} (${name}) caFile`, caFile);
      return [name, { credentials: readCredentials(env, rule), ca }];
    }),
  );
}

function readCredentials(env: EnvironmentReader, { name, auth }: EnrichmentRule): ErpCredentials {
  const secret = (place: SecretPlace): string =>
    env.secretAt(place, `${ENRICHMENT_FILE} (${name})`);
  switch (auth.kind) {
    case 'none':
      return auth;
    case 'bearer':
      return 'file' in auth.token
        ? { kind: 'file', path: auth.token.file }
        : { kind: 'fixed', token: secret(auth.token) };
    case 'basic':
      return { ...auth, password: secret(auth.password) };
    case 'oauth':
      return { ...auth, clientSecret: secret(auth.clientSecret) };
    default:
      return auth satisfies never;
  }
}
