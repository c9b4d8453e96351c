import { type EnvironmentReader } from './environment-reader.js';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A required address that secrets travel to: https only, http for loopback alone. */
export function readServiceUrl(env: EnvironmentReader, name: string, what: string): string {
  const raw = env.required(name, what);
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
  return raw;
}
