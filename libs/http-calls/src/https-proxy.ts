import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { Client, errors } from 'undici';
import { afterRealMs } from '#libs/clock';

/** An HTTP proxy that opens tunnels (CONNECT) to https services. */
export interface HttpsProxy {
  /** `http://host:port`, without a login. */
  origin: string;
  /** Value of `Proxy-Authorization`. */
  authorization?: string | undefined;
  /**
   * Hosts that are reached without it: a name covers those below it, with or without a dot before it; `:port` limits an
   * entry to that port; an address may be a network (`10.0.0.0/8`); `*` is every host.
   */
  noProxy: readonly string[];
}

interface Host {
  hostname: string;
  port: number;
}

/**
 * Whether a host is reached through the proxy. Loopback never is: that of the proxy's machine is another.
 *
 * @param hostname IPv6 with brackets or without
 */
export function isProxied({ hostname, port }: Host, noProxy: readonly string[]): boolean {
  const host = bare(hostname);
  return !isLoopback(host) && !noProxy.some((entry) => covers(entry, host, port));
}

function isLoopback(host: string): boolean {
  return /(^|\.)localhost$/.test(host) || isWithin(host, '127.0.0.0', 8) || host === '::1';
}

function covers(entry: string, host: string, port: number): boolean {
  const isBareAddress = isIPv6(entry.split('/')[0] ?? '');
  const [, text = entry, onlyPort] = isBareAddress ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
  if (onlyPort !== undefined && Number(onlyPort) !== port) return false;
  const name = bare(text.replace(/^\*?\./, ''));
  const [network = '', prefix] = name.split('/');
  if (prefix !== undefined) return isWithin(host, network, Number(prefix));
  return name === '*' || host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function isWithin(host: string, network: string, prefix: number): boolean {
  const version = isIP(host);
  if (version === 0 || isIP(network) !== version) return false;
  if (!(prefix >= 0 && prefix <= (version === 4 ? 32 : 128))) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const addresses = new BlockList();
  addresses.addSubnet(network, prefix, family);
  return addresses.check(host, family);
}

function bare(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

/**
 * Opens a tunnel through the proxy.
 *
 * @throws Error that names the proxy, never its login
 */
export async function openTunnel(
  { origin, authorization }: HttpsProxy,
  { hostname, port }: Host,
  timeoutMs: number,
): Promise<Socket> {
  const target = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`;
  const client = new Client(origin, { connect: { timeout: timeoutMs }, headersTimeout: 0 });
  const answer = client.connect({
    path: target,
    headers: {
      host: target,
      ...(authorization !== undefined && { 'proxy-authorization': authorization }),
    },
  });
  let stopTimer: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    stopTimer = afterRealMs(timeoutMs, () => {
      const why = `no answer of the proxy ${origin} for ${target} in ${timeoutMs} ms`;
      reject(new errors.ConnectTimeoutError(why));
    });
  });
  try {
    const { statusCode, socket } = await Promise.race([answer, late]);
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on('error', () => undefined).destroy();
    throw new TunnelError(`the proxy ${origin} ${refusalOf(statusCode, target)}`);
  } catch (error) {
    if (error instanceof TunnelError || error instanceof errors.ConnectTimeoutError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    // connecting to a name with several addresses fails with an AggregateError without a message
    throw new TunnelError(`no tunnel through the proxy ${origin}: ${message || code}`);
  } finally {
    stopTimer?.();
    // a tunnel that is open is not its own any more
    void client.destroy();
  }
}

function refusalOf(status: number, target: string): string {
  return status === 407
    ? 'does not accept the login in HTTPS_PROXY, or wants one (407)'
    : `has opened no tunnel to ${target}: it answered ${status}`;
}

/** Without a code: by some of them undici would make another connection at once. */
class TunnelError extends Error {}
