import type { EnvironmentReader } from './environment-reader.js';

/** The HTTP proxy for https services. */
export interface ProxySettings {
  /** `http://host:port`, without the login. */
  origin: string;
  /** Value of `Proxy-Authorization`. */
  authorization?: string | undefined;
  /**
   * Hosts that are reached without the proxy. A name includes its subdomains, with or without a leading dot; `:port`
   * limits an entry to that port; an address may be a network (`10.0.0.0/8`); `*` is every host.
   */
  noProxy: string[];
}

/** As in curl, the lower-case name takes precedence, and a proxy without a scheme is an HTTP proxy. */
export function readProxySettings(env: EnvironmentReader): ProxySettings | undefined {
  const name = env.isSet('https_proxy') ? 'https_proxy' : 'HTTPS_PROXY';
  const given = name === 'https_proxy' ? env.optional(name) : env.secret(name);
  const noProxy = env.optional('no_proxy') ?? env.optional('NO_PROXY') ?? '';
  if (given === undefined) return undefined;
  const text = given.includes('://') ? given : `http://${given}`;
  const url = URL.canParse(text) && !/\s/.test(text) ? new URL(text) : undefined;
  const authorization = url && loginOf(url);
  if (url?.protocol !== 'http:' || url.pathname + url.search + url.hash !== '/') {
    env.refuse(name, 'must be a URL such as http://proxy.example.com:8080: an HTTP proxy');
    return undefined;
  }
  if (authorization === null) {
    env.refuse(name, 'has a user name or password with a % that begins no escape: write it as %25');
    return undefined;
  }
  return {
    // URL.origin omits port 80, which messages should show
    origin: `http://${url.hostname}:${url.port === '' ? '80' : url.port}`,
    authorization,
    noProxy: noProxy.split(/[\s,]+/).filter((entry) => entry !== ''),
  };
}

/** Null where the percent-encoding is invalid. */
function loginOf({ username, password }: URL): string | undefined | null {
  if (username + password === '') return undefined;
  try {
    const login = [username, password].map(decodeURIComponent).join(':');
    return `Basic ${Buffer.from(login).toString('base64')}`;
  } catch {
    return null;
  }
}
