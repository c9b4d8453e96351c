import { isIP } from 'node:net';
import { type Environment, type EnvironmentReader, readSettings } from './environment-reader.js';

/** The resolver takes no longer name. */
const HOST_NAME = /^[A-Za-z0-9._-]{1,253}$/;
/** The whole network 127.0.0.0/8 is loopback. */
const LOOPBACK_HOST = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;
const TOKEN_IN_HEADER = /^[\x20-\x7e]*$/;

/**
 * The address on which a bridge with these settings listens, for the commands.
 *
 * @throws SettingsError with all problems
 */
export function loadBridgeAddress(environment: Environment) {
  return readSettings(environment, readHttpSettings);
}

export function readHttpSettings(env: EnvironmentReader) {
  const { isLoopback, ...address } = listenAddress(env, 'BRIDGE', 3000);
  /** If set, required as Bearer token on `/api` and `/metrics`. */
  const apiToken = env.secret('BRIDGE_API_TOKEN');
  if (apiToken !== undefined && !TOKEN_IN_HEADER.test(apiToken)) {
    // no client could send it
    env.refuse(
      'BRIDGE_API_TOKEN',
      'holds a line break or another character that no header can carry',
    );
  }
  if (apiToken === undefined && !isLoopback) {
    env.refuse('BRIDGE_API_TOKEN', 'is required when BRIDGE_HTTP_HOST is not loopback');
  }
  return { ...address, apiToken };
}

/** The address an app listens on: `<APP>_HTTP_HOST` and `<APP>_HTTP_PORT`. */
export function listenAddress(env: EnvironmentReader, app: string, defaultPort: number) {
  const host = env.text(`${app}_HTTP_HOST`, '127.0.0.1');
  const isHost = isIP(host) !== 0 || HOST_NAME.test(host);
  if (!isHost) {
    env.refuse(`${app}_HTTP_HOST`, 'must be a host name or an IP address, and nothing else');
  }
  return {
    // For `localhost` Fastify opens a second server on ::1, without the limits of the first.
    host: host === 'localhost' ? '127.0.0.1' : host,
    port: env.integer(`${app}_HTTP_PORT`, { default: defaultPort, max: 65_535 }),
    // an invalid host is one problem: the token is not required as well
    isLoopback: !isHost || LOOPBACK_HOST.test(host),
  };
}
