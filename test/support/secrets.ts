import { readFileSync } from 'node:fs';
import type { Environment } from '#libs/config';

/** A shorter one may be part of any word. */
const SHORTEST = 8;
/** With the settings that they are of. */
const ofThisTest = new Map<string, string>();

/** From now on {@link secretIn} knows the secrets of these settings, also those in files. */
export function rememberSecrets(env: Environment): void {
  for (const [name, value = ''] of Object.entries(env)) {
    const isFile = name.endsWith('_FILE');
    const text = isFile ? readIfThere(value) : value;
    for (const secret of secretsOf(name.replace(/_FILE$/, ''), text)) {
      if (secret.length >= SHORTEST) ofThisTest.set(secret, name);
    }
  }
}

/** The setting of a secret that a text holds, of all that any process of this test file was given. */
export function secretIn(text: string): string | undefined {
  for (const [secret, name] of ofThisTest) if (text.includes(secret)) return name;
  return undefined;
}

function secretsOf(setting: string, text: string): string[] {
  if (/(TOKEN|PASSWORD|SECRET)$/.test(setting)) return [text];
  // in PEM: a line is enough to know it by
  if (setting.endsWith('KEY')) return text.split('\n').slice(1, 2);
  if (setting === 'TERMINAL_TOKENS') return Object.keys(objectIn(text));
  if (setting === 'INGEST_SENDERS') return senderSecrets(text);
  if (/^OTEL_.*HEADERS$/.test(setting)) {
    return text.split(',').map((pair) => decodeURIComponent(pair.replace(/^[^=]*=/, '')));
  }
  return loginSecrets(text);
}

function senderSecrets(text: string): string[] {
  const senders = Object.values(objectIn(text)['senders'] ?? {}) as Environment[];
  return senders.flatMap(({ token, hmacSecret, tokenFile, hmacSecretFile }) => [
    ...[token, hmacSecret].filter((secret) => secret !== undefined),
    ...[tokenFile, hmacSecretFile].map((path) => readIfThere(path ?? '')),
  ]);
}

/** Of an address: its password, and what HTTP makes of both. */
function loginSecrets(address: string): string[] {
  const { username, password } = URL.canParse(address) ? new URL(address) : new URL('none:');
  if (password.length < SHORTEST) return [];
  return [password, Buffer.from(`${username}:${password}`).toString('base64')];
}

function objectIn(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
