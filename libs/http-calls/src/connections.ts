import { once } from 'node:events';
import { BlockList, connect as connectTcp, isIP, isIPv6, Socket } from 'node:net';
import { buildConnector, Client, errors } from 'undici';
import { realNowMs, withDeadline } from '#libs/clock';
import type { ProxySettings } from '#libs/config';

/**
 * Opens connections that are reset when the request under way on them is given up. Closed in good order, the
 * system would go on sending what has not arrived, though the process has forgotten it: once the network is
 * back, a command that was made again meanwhile would take effect another time, behind those that followed it.
 *
 * @param timeoutMs until a connection is open, and as long again for its TLS handshake
 * @param proxy of https alone: plain http leads to loopback
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
    else connect(options, resetting(callback));
  };

  // Node resets plain connections alone: of a secure one, what is below. That has to be open before TLS is put on
  // it, because it may have tried several addresses.
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
    connect({ ...options, httpSocket: below }, resetting(callback, below));
  }

  function openBelow({ hostname, port }: buildConnector.Options): Promise<Socket> {
    const host = { hostname, port: Number(port || 443) };
    if (proxy === undefined || !isProxied(host, proxy.noProxy)) return openTcp(host, timeoutMs);
    return openTunnel(proxy, host, Math.ceil(timeoutMs * TUNNEL_SHARE));
  }
}

/** A call has the same deadline, and would end before it is known that the proxy is at fault. */
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

/** Hands the connection on, once it will be reset in time; `below` is the plain one, where it is secure. */
function resetting(callback: buildConnector.Callback, below?: Socket): buildConnector.Callback {
  return (...result) => {
    const [error, socket] = result;
    if (error === null) {
      const destroy = socket.destroy.bind(socket);
      socket.destroy = (reason) => {
        socket.destroy = destroy;
        if (!isGivenUp(reason)) return destroy(reason);
        // With its own reason undici opens another connection for the call that was given up. Without any it takes
        // the end for that of an answer that has no other, and fails an assertion.
        const why = new errors.SocketError('given up');
        if (below === undefined) return resetBecause(socket, why);
        // By TLS, once that knows why: closed under its hands, it would say so before it says why.
        below.destroy = () => resetBecause(below);
        return destroy(why);
      };
    }
    callback(...result);
    if (error === null) watchAnswers(socket);
  };
}

/**
 * For so long a connection is used again. The name of a service that has moved may lead elsewhere by then, while the
 * former address still answers; connections that are always in use would never be opened anew.
 */
export const LONGEST_USE_MS = 60_000;

/** The parser that undici puts to a connection as that is handed to it. */
interface ResponseParser {
  onHeadersComplete: (status: number, isUpgrade: boolean, isKept: boolean) => number;
}

/**
 * A server or gateway may send `100 Continue` unasked (RFC 9110, section 15.2). undici, which passes over every other
 * informational answer, takes it for a fault: so its parser is told another one, and that the connection lasts. With the
 * answer that comes after its longest use, the connection ends as if the server had said so.
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

/** Node's own reset gives no reason. */
function resetBecause(socket: Socket, why?: Error): Socket {
  socket.destroy = () => Socket.prototype.destroy.call(socket, why);
  return socket.resetAndDestroy();
}

/** By undici's own words for it: a request was aborted, or all of them with their pool. */
function isGivenUp(reason: NodeJS.ErrnoException | undefined): boolean {
  return reason?.message === 'aborted' || reason instanceof errors.ClientDestroyedError;
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
    // a tunnel that is open is not its own any more
    void client.destroy();
  }
}

function refusalOf(status: number, target: string): string {
  return status === 407
    ? 'does not accept the login in https_proxy or HTTPS_PROXY, or wants one (407)'
    : `has opened no tunnel to ${target}: it answered ${status}`;
}

/** Without a code: by some of them undici would make another connection at once. */
class TunnelError extends Error {}
