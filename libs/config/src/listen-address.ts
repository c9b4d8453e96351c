import { isIP } from 'node:net';
import { type EnvironmentReader } from './environment-reader.js';

const HOST_NAME = /^[A-Za-z0-9._-]+$/;
/** All of 127.0.0.0/8 is loopback. */
const LOOPBACK_HOST = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Where an app listens: `<APP>_HTTP_HOST` and `<APP>_HTTP_PORT`. */
export function listenAddress(
  env: EnvironmentReader,
  app: string,
  defaultPort: number,
): { host: string; port: number; isLoopback: boolean } {
  const host = env.text(`${app}_HTTP_HOST`, '127.0.0.1');
  const isHost = isIP(host) !== 0 || HOST_NAME.test(host);
  if (!isHost) {
    env.problem(`${app}_HTTP_HOST`, 'must be a host name or an IP address, and nothing else');
  }
  return {
    host,
    port: env.integer(`${app}_HTTP_PORT`, { default: defaultPort, max: 65_535 }),
    // what is no address has been reported, and asks for nothing more
    isLoopback: !isHost || LOOPBACK_HOST.test(host),
  };
}
