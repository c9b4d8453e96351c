import type { EnvironmentReader } from './environment-reader.js';
import { readServiceUrl } from './service-url.js';

/** The source of an access token; exactly one is configured. */
export type TokenSettings =
  | { kind: 'fixed'; token: string }
  /** The file is read again when it changes. */
  | { kind: 'file'; path: string }
  /** The service's own login. */
  | { kind: 'login'; email: string; password: string }
  /** OAuth 2.0 client credentials (RFC 6749, section 4.4). */
  | {
      kind: 'oauth';
      tokenUrl: string;
      clientId: string;
      clientSecret: string;
      scope?: string | undefined;
    };

interface TokenSource {
  names: readonly string[];
  read: (env: EnvironmentReader) => TokenSettings;
}

const LOGIN = 'MACHINE_CLOUD_LOGIN';
const OAUTH = 'MACHINE_CLOUD_OAUTH';

const WAYS: readonly TokenSource[] = [
  { names: ['MACHINE_CLOUD_TOKEN'], read: readFixed },
  { names: ['MACHINE_CLOUD_TOKEN_FILE'], read: readFile },
  {
    names: [`${LOGIN}_EMAIL`, `${LOGIN}_PASSWORD`, `${LOGIN}_PASSWORD_FILE`],
    read: readLogin,
  },
  {
    names: ['TOKEN_URL', 'CLIENT_ID', 'CLIENT_SECRET', 'CLIENT_SECRET_FILE', 'SCOPE'].map(
      (name) => `${OAUTH}_${name}`,
    ),
    read: readOAuth,
  },
];

/** A setting selects its way to a token: incomplete settings of a way, or a second way, are a problem. */
export function readToken(env: EnvironmentReader): TokenSettings {
  const isSet = (name: string): boolean => env.isSet(name);
  const begun = WAYS.filter(({ names }) => names.some(isSet));
  if (begun.length === 0) {
    env.refuse(
      'MACHINE_CLOUD_TOKEN',
      `is required, or another way to a token: MACHINE_CLOUD_TOKEN_FILE, ${LOGIN}_EMAIL with ` +
        `${LOGIN}_PASSWORD, or ${OAUTH}_TOKEN_URL with ${OAUTH}_CLIENT_ID and ${OAUTH}_CLIENT_SECRET`,
    );
  } else if (begun.length > 1) {
    const ways = begun.map(({ names }) => names.filter(isSet).join(' + '));
    env.refuse(ways.join(' and '), 'are different ways to a token: keep one, unset the others');
  }
  const [settings = { kind: 'fixed', token: '' }] = begun.map(({ read }) => read(env));
  return settings;
}

function readFixed(env: EnvironmentReader): TokenSettings {
  return { kind: 'fixed', token: readBearer(env, 'MACHINE_CLOUD_TOKEN', '') };
}

/** A token that fits into the `Authorization` header of a call. */
export function readBearer(env: EnvironmentReader, name: string, fallback: string): string {
  const token = env.text(name, fallback);
  const fault = tokenFault(token);
  if (fault !== undefined) env.refuse(name, fault);
  return token;
}

/**
 * Why a header cannot carry a token, without repeating it; undefined when it can. A call would fail in the HTTP
 * library, with the token in its message. RFC 6750 allows fewer characters.
 */
export function tokenFault(token: string): string | undefined {
  if (/^[\x21-\x7e]*$/.test(token)) return undefined;
  return 'holds a line break, a blank or another character that no token in a header can have; give the token alone, without Bearer';
}

/** Checks only that the file exists and is not empty: it may be corrected while the bridge runs. */
function readFile(env: EnvironmentReader): TokenSettings {
  const name = 'MACHINE_CLOUD_TOKEN_FILE';
  const path = env.text(name, '');
  env.fileContent(name, path);
  return { kind: 'file', path };
}

function readLogin(env: EnvironmentReader): TokenSettings {
  return {
    kind: 'login',
    email: env.required(`${LOGIN}_EMAIL`, 'whom to log in'),
    password: env.requiredSecret(`${LOGIN}_PASSWORD`, 'the password of the login'),
  };
}

function readOAuth(env: EnvironmentReader): TokenSettings {
  return {
    kind: 'oauth',
    scope: env.optional(`${OAUTH}_SCOPE`),
    tokenUrl: readServiceUrl(env, `${OAUTH}_TOKEN_URL`, 'where OAuth tokens are handed out'),
    clientId: env.required(`${OAUTH}_CLIENT_ID`, 'the client that OAuth tokens are handed out to'),
    clientSecret: env.requiredSecret(`${OAUTH}_CLIENT_SECRET`, 'the secret of the OAuth client'),
  };
}
