import { once } from 'node:events';
import { connect as connectTcp, Socket } from 'node:net';
import { buildConnector, errors } from 'undici';
import { type HttpsProxy, isProxied, openTunnel } from './https-proxy.js';

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
  proxy?: HttpsProxy,
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
