import type { EnvironmentReader } from './environment-reader.js';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

export function isLoopback(hostname: string): boolean {
  return LOOPBACK.has(hostname);
}

/** Reads the required address of a service that receives secrets: https, or http on loopback only. */
export function readServiceUrl(env: EnvironmentReader, name: string, what: string): string {
  const raw = env.required(name, what);
  const fault = raw === '' ? undefined : serviceUrlFault(raw);
  if (fault !== undefined) env.refuse(name, fault);
  return raw;
}

/** The fault of such an address, as text that follows its name. */
export function serviceUrlFault(raw: string): string | undefined {
  const url = URL.canParse(raw) ? new URL(raw) : undefined;
  // the URL parser drops line breaks and accepts other white space as part of the path
  if (url === undefined || /\s/.test(raw)) {
    return 'must be a URL such as https://cloud.example.com';
  }
  if (url.port === '0') return 'must not name port 0, at which nothing listens';
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password';
  const isLocal = url.protocol === 'http:' && isLoopback(url.hostname);
  if (url.protocol !== 'https:' && !isLocal) {
    return 'must be https (http is allowed for localhost, 127.0.0.1 and [::1] alone)';
  }
  return raw.includes('#') ? 'must not carry a fragment (#…)' : undefined;
}
