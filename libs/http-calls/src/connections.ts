import { once } from 'node:events';
import { BlockList, connect as connectTcp, isIP, isIPv6, Socket } from 'node:net';
import { buildConnector, Client, errors } from 'undici';
import { realNowMs, withDeadline } from '#libs/clock';
import type { ProxySettings } from '#libs/config';

/**
 * Opens connections that are reset when their request is given up. After an orderly close the system would go on
 * sending data that has not arrived: once the network is back, a command that was repeated meanwhile would take
 * effect a second time, after later ones.
 *
 * @param timeoutMs for opening a connection, and as long again for its TLS handshake
 * @param proxy for https only: plain http leads to loopback
 * @param ca certificates that are trusted in place of the system's, in PEM
 */
export function resettingConnector(
  timeoutMs: number,
  proxy?: ProxySettings,
  ca?: string,
): buildConnector.connector {
  const connect = buildConnector({ timeout: timeoutMs, ...(ca !== undefined && { ca }) });
  return (options, callback) => {
    if (options.protocol === 'https:') void openSecure(options, callback);
    else connect(options, resetOnGiveUp(callback));
  };

  // Node resets plain connections only; for a secure one, that is the one below TLS. It must be open before TLS
  // begins, because several addresses may be tried.
  async function openSecure(
    options: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> {
    let below: Socket;
    try {
      below = await openBelow(options);
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    connect({ ...options, httpSocket: below }, resetOnGiveUp(callback, below));
  }

  function openBelow({ hostname, port }: buildConnector.Options): Promise<Socket> {
    const host = { hostname, port: Number(port || 443) };
    if (proxy === undefined || !isProxied(host, proxy.noProxy)) return openTcp(host, timeoutMs);
    return openTunnel(proxy, host, Math.ceil(timeoutMs * TUNNEL_SHARE));
  }
}

/** A call has the same deadline, and would otherwise end before the proxy is known to be at fault. */
const TUNNEL_SHARE = 0.9;

async function openTcp(
  { hostname, port }: { hostname: string; port: number },
  timeoutMs: number,
): Promise<Socket> {
  const socket = connectTcp({ host: hostname, port, timeout: timeoutMs });
  socket.once('timeout', () => {
    const why = `no connection to ${hostname} in ${timeoutMs} ms`;
    socket.destroy(new errors.ConnectTimeoutError(why));
  });
  await once(socket, 'connect');
  return socket.setTimeout(0);
}

/** Wraps `callback` so that a request that is given up resets its connection; `below` is the one below TLS. */
function resetOnGiveUp(callback: buildConnector.Callback, below?: Socket): buildConnector.Callback {
  return (...result) => {
    const [error, socket] = result;
    if (error === null) {
      const destroy = socket.destroy.bind(socket);
      socket.destroy = (reason) => {
        socket.destroy = destroy;
        if (!isGivenUp(reason)) return destroy(reason);
        // With its own reason undici would open another connection for the call that was given up. Without one it
        // would take the end for that of an answer that ends with its connection, and fail an assertion.
        const why = new errors.SocketError('given up');
        if (below === undefined) return resetBecause(socket, why);
        // Reset by TLS, with the reason: if the connection below closed first, TLS would report that instead.
        below.destroy = () => resetBecause(below);
        return destroy(why);
      };
    }
    callback(...result);
    if (error === null) watchAnswers(socket);
  };
}

/**
 * Maximum time for which a connection is reused. The name of a service that has moved may lead elsewhere while the
 * former address still answers; connections that are always in use would never be replaced.
 */
export const LONGEST_USE_MS = 60_000;

/** The parser that undici attaches to a connection when it gets it. */
interface ResponseParser {
  onHeadersComplete: (status: number, isUpgrade: boolean, isKept: boolean) => number;
}

/**
 * A server or gateway may send `100 Continue` unasked (RFC 9110, section 15.2). undici ignores every other
 * informational answer but treats this one as a fault, so its parser gets another status, and that the connection
 * stays open. The first answer after the longest use ends the connection, as if the server had asked for it.
 */
function watchAnswers(socket: Socket): void {
  const own = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'parser',
  );
  const parser = own && (Reflect.get(socket, own) as ResponseParser | null);
  if (!parser) return;
  const complete = parser.onHeadersComplete.bind(parser);
  const openedMs = realNowMs();
  parser.onHeadersComplete = (status, isUpgrade, isKept) => {
    if (status < 200) return complete(status === 100 ? 102 : status, isUpgrade, true);
    return complete(status, isUpgrade, isKept && realNowMs() - openedMs < LONGEST_USE_MS);
  };
}

/** Resets with a reason, which Node's own reset lacks. */
function resetBecause(socket: Socket, why?: Error): Socket {
  socket.destroy = () => Socket.prototype.destroy.call(socket, why);
  return socket.resetAndDestroy();
}

/** By undici's reasons: a request was aborted, or all requests of a destroyed pool. */
function isGivenUp(reason: NodeJS.ErrnoException | undefined): boolean {
  return reason?.message === 'aborted' || reason instanceof errors.ClientDestroyedError;
}

interface Host {
  hostname: string;
  port: number;
}

/**
 * Whether a host is reached through the proxy. Loopback never is: the proxy's machine has its own.
 *
 * @param hostname IPv6 with brackets or without
 */
export function isProxied({ hostname, port }: Host, noProxy: readonly string[]): boolean {
  const host = bareHostname(hostname);
  return !isLoopback(host) && !noProxy.some((entry) => isCovered(entry, host, port));
}

function isLoopback(host: string): boolean {
  return /(^|\.)localhost$/.test(host) || isWithin(host, '127.0.0.0', 8) || host === '::1';
}

function isCovered(entry: string, host: string, port: number): boolean {
  const isBareAddress = isIPv6(entry.split('/')[0] ?? '');
  const [, text = entry, onlyPort] = isBareAddress ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
  if (onlyPort !== undefined && Number(onlyPort) !== port) return false;
  const name = bareHostname(text.replace(/^\*?\./, ''));
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

function bareHostname(hostname: string): string {
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
  { origin, authorization }: ProxySettings,
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
  try {
    if (!(await withDeadline(answer, timeoutMs))) {
      const why = `no answer of the proxy ${origin} for ${target} in ${timeoutMs} ms`;
      throw new errors.ConnectTimeoutError(why);
    }
    const { statusCode, socket } = await answer;
    if (statusCode >= 200 && statusCode < 300) return socket as Socket;
    socket.on('error', () => undefined).destroy();
    throw new TunnelError(`the proxy ${origin} ${refusalOf(statusCode, target)}`);
  } catch (error) {
    if (error instanceof TunnelError || error instanceof errors.ConnectTimeoutError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    // connecting to a name with several addresses fails with an AggregateError without a message
    throw new TunnelError(`no tunnel through the proxy ${origin}: ${message || code}`);
  } finally {
    // an open tunnel no longer belongs to the client
    void client.destroy();
  }
}

function refusalOf(status: number, target: string): string {
  return status === 407
    ? 'does not accept the login in https_proxy or HTTPS_PROXY, or wants one (407)'
    : `has opened no tunnel to ${target}: it answered ${status}`;
}

/** Has no code: for some codes undici would open another connection at once. */
class TunnelError extends Error {}
