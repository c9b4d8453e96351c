import { readFileSync } from 'node:fs';
import type { Environment } from '#libs/config';

/** A shorter secret may be part of any word. */
const SHORTEST = 8;
/** Secrets of this test, with the settings that they belong to. */
const ofThisTest = new Map<string, string>();

/** Adds the secrets of these settings, also those in files, to the search of {@link secretIn}. */
export function rememberSecrets(env: Environment): void {
  for (const [name, value = ''] of Object.entries(env)) {
    const isFile = name.endsWith('_FILE');
    const text = isFile ? readIfThere(value) : value;
    for (const secret of secretsOf(name.replace(/_FILE$/, ''), text)) {
      if (secret.length >= SHORTEST) ofThisTest.set(secret, name);
    }
  }
}

/** The setting of a secret that a text contains, among the secrets of all processes of this test file. */
export function secretIn(text: string): string | undefined {
  for (const [secret, name] of ofThisTest) if (text.includes(secret)) return name;
  return undefined;
}

function secretsOf(setting: string, text: string): string[] {
  if (/(TOKEN|PASSWORD|SECRET)$/.test(setting)) return [text];
  // PEM: one line is enough to recognise it
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

/** The secrets in an address: its password, and the login encoded as for HTTP. */
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
