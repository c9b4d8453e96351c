import { isIdentifier, mediaType } from '#libs/contracts';

import { readSettingsText, SettingsFields, SettingsFileError } from '../document/settings-file.js';
import {
  type EnrichmentAuth,
  type EnrichmentRule,
  enrichmentUrl,
  isPlace,
  PLACEHOLDER,
  type SecretPlace,
} from './enrichment-rules.js';

const MAX_RULES = 100;
/** Equals the limit of a document on the topic. */
const MAX_ANSWER_BYTES = 1_048_576;
/** A label in logs and metrics. */
const NAME = /^[\w.-]{1,64}$/;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const HEADER_NAME = /^[A-Za-z0-9-]{1,64}$/;
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/;
/** Headers that the client sets, and secrets, which belong under `auth`. */
const OTHERS_HEADERS =
  /^(authorization|proxy-authorization|cookie|host|content-.*|accept-encoding|transfer-encoding|connection|te|trailer|upgrade|expect|traceparent)$/i;

/**
 * Reads a list of rules (docs/erp/enrichment.md).
 *
 * @throws SettingsFileError, so that a mistake is reported at the start and not with the first event
 */
export function parseEnrichmentRules(text: string, format: 'json' | 'yaml'): EnrichmentRule[] {
  const content = readSettingsText(text, format, 'it');
  if (!Array.isArray(content) || content.length === 0 || content.length > MAX_RULES) {
    throw new SettingsFileError(`it must be a list of 1 to ${MAX_RULES} rules`);
  }
  const rules = content.map((entry: unknown, index) => readRule(entry, index + 1));
  const repeated = rules.find(({ name }, index) =>
    rules.slice(0, index).some((other) => other.name === name),
  );
  if (repeated !== undefined) {
    throw new SettingsFileError(`two rules have the name ${repeated.name}`);
  }
  return rules;
}

function readRule(entry: unknown, position: number): EnrichmentRule {
  const fields = new SettingsFields(entry, `rule ${position}`);
  const name = fields.text('name');
  if (!NAME.test(name)) {
    throw fields.fault('name', 'must be 1 to 64 letters, digits, dots, dashes and underscores');
  }
  const values = fields.texts('values');
  const contentType = mediaType(fields.optional('contentType') ?? null);
  const version = fields.optional('version');
  const answerOrderId = fields.optional('answerOrderId');
  const caFile = fields.optional('caFile');
  const rule: EnrichmentRule = {
    name,
    when: readWhen(fields),
    orderId: place(fields, 'orderId', fields.text('orderId')),
    keepLeadingZeros: fields.flag('keepLeadingZeros', false),
    values,
    url: fields.text('url'),
    headers: readHeaders(fields),
    auth: readAuth(fields),
    proxy: fields.flag('proxy', true),
    timeoutMs: fields.integer('timeoutMs', 10_000, 100, 120_000),
    concurrency: fields.integer('concurrency', 4, 1, 64),
    maxAnswerBytes: fields.integer('maxAnswerBytes', MAX_ANSWER_BYTES, 1, MAX_ANSWER_BYTES),
    goneAfterSeconds: fields.integer('goneAfterSeconds', 10, 0, 3600),
    ...(version !== undefined && { version: place(fields, 'version', version) }),
    ...(answerOrderId !== undefined && { answerOrderId }),
    ...(contentType !== null && { contentType }),
    ...(caFile !== undefined && { caFile }),
  };
  for (const [key, at] of Object.entries(values)) {
    if (key === 'orderId' || !/^\w+$/.test(key)) throw fields.fault('values', `cannot have ${key}`);
    place(fields, `values.${key}`, at);
  }
  checkUrl(fields, rule);
  if (answerOrderId !== undefined) namesIn(fields, 'answerOrderId', answerOrderId, values);
  fields.rejectOthers();
  return rule;
}

function place(fields: SettingsFields, name: string, text: string): string {
  if (isPlace(text)) return text;
  throw fields.fault(name, 'must be a place such as ce_subject or Order.Lines[0].Number');
}

function readWhen(fields: SettingsFields): EnrichmentRule['when'] {
  const criteria = fields.object('when');
  const when = Object.entries(criteria ?? {}).map(([at, value]) => {
    const texts: unknown[] = Array.isArray(value) ? value : [value];
    if (texts.length === 0 || !texts.every((text) => isIdentifier(text))) {
      throw fields.fault(`when.${at}`, 'must be a text of 1 to 256 characters, or several');
    }
    return { place: place(fields, `when.${at}`, at), texts };
  });
  if (when.length > 0) return when;
  throw fields.fault('when', 'must say which events the rule is for');
}

function readHeaders(fields: SettingsFields): Record<string, string> {
  const headers = fields.texts('headers');
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) {
      throw fields.fault('headers', 'has a name or value that HTTP does not take');
    }
    if (OTHERS_HEADERS.test(name)) throw fields.fault('headers', `cannot have ${name}`);
  }
  return Object.fromEntries(
    Object.entries({ accept: 'application/json', ...headers }).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  );
}

function readAuth(fields: SettingsFields): EnrichmentAuth {
  const given = fields.object('auth');
  if (given === undefined) return { kind: 'none' };
  const auth = new SettingsFields(given, `${fields.where}, auth`);
  const kind = auth.text('kind');
  const read = authOf(kind, auth);
  auth.rejectOthers();
  return read;
}

function authOf(kind: string, auth: SettingsFields): EnrichmentAuth {
  switch (kind) {
    case 'none':
      return { kind };
    case 'bearer':
      return { kind, token: secret(auth, 'token') };
    case 'basic':
      return { kind, username: auth.text('username'), password: secret(auth, 'password') };
    case 'oauth': {
      const scope = auth.optional('scope');
      const tokenUrl = auth.text('tokenUrl');
      const problem = addressProblem(tokenUrl);
      if (problem !== undefined) throw auth.fault('tokenUrl', problem);
      const clientId = auth.text('clientId');
      const clientSecret = secret(auth, 'clientSecret');
      return { kind, tokenUrl, clientId, clientSecret, ...(scope !== undefined && { scope }) };
    }
    default:
      throw auth.fault('kind', 'must be none, bearer, basic or oauth');
  }
}

function secret(fields: SettingsFields, name: string): SecretPlace {
  const given = fields.object(name, 'must be {env: NAME} or {file: path}: no secret itself');
  const at = new SettingsFields(given ?? {}, `${fields.where}, ${name}`);
  const [env, file] = [at.optional('env'), at.optional('file')];
  at.rejectOthers();
  if (env !== undefined && file === undefined && /^[A-Za-z_]\w*$/.test(env)) return { env };
  if (file !== undefined && env === undefined) return { file };
  throw fields.fault(name, 'must be {env: NAME} or {file: path}: no secret itself');
}

function checkUrl(fields: SettingsFields, rule: EnrichmentRule): void {
  const { url, values } = rule;
  const names = namesIn(fields, 'url', url, values);
  const [, , host = ''] = url.split('/', 3);
  if (host.includes('{')) throw fields.fault('url', 'must not have values in its host');
  const some = Object.fromEntries(names.map((name) => [name, '0']));
  const problem = addressProblem(enrichmentUrl(rule, some));
  if (problem !== undefined) throw fields.fault('url', problem);
}

/** Names of the values that a text refers to. */
function namesIn(
  fields: SettingsFields,
  field: string,
  text: string,
  values: EnrichmentRule['values'],
): string[] {
  const names = [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  const unknown = names.find((name) => name !== 'orderId' && !Object.hasOwn(values, name));
  if (unknown !== undefined) throw fields.fault(field, `has {${unknown}}, which is no value`);
  if (names.length === 0) throw fields.fault(field, 'has no {orderId}: it is the same for all');
  return names;
}

function addressProblem(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || /\s/.test(address)) {
    return 'must be a URL such as https://erp.example.com/orders/{orderId}';
  }
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  if (address.includes('#')) return 'must not carry a fragment (#…)';
  const isLocal = url.protocol === 'http:' && LOOPBACK.has(url.hostname);
  if (url.protocol === 'https:' || isLocal) return undefined;
  return 'must be https (http is allowed for localhost, 127.0.0.1 and [::1] alone)';
}
