import { readFileSync } from 'node:fs';
import type { Environment } from '#libs/config';

const SETTING = /(?:TOKEN|PASSWORD|SECRET)(?<file>_FILE)?$/;
const PROXY = /^https_proxy$/i;
/** A shorter one may be part of any word. */
const SHORTEST = 8;
const ofThisTest = new Set<string>();

/** Returns the settings that hold a secret, with the secret, also where a file holds it; {@link holdsSecret} knows them from now on. */
export function rememberSecrets(env: Environment): Map<string, string> {
  const found = Object.entries(env).flatMap(([name, value = '']): [string, string][] => {
    if (PROXY.test(name)) return loginSecrets(value).map((secret) => [name, secret]);
    const match = SETTING.exec(name);
    if (match === null) return [];
    const secret = match.groups?.['file'] === undefined ? value : readIfThere(value);
    return secret.length < SHORTEST ? [] : [[name, secret]];
  });
  for (const [, secret] of found) ofThisTest.add(secret);
  return new Map(found);
}

/** Whether a text holds a secret that any process of this test file was given. */
export function holdsSecret(text: string): boolean {
  return [...ofThisTest].some((secret) => text.includes(secret));
}

/** Of an address: its password, and what HTTP makes of both. */
function loginSecrets(address: string): string[] {
  const { username, password } = URL.canParse(address) ? new URL(address) : new URL('none:');
  if (password.length < SHORTEST) return [];
  return [password, Buffer.from(`${username}:${password}`).toString('base64')];
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
