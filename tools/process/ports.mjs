import { connect, createServer } from 'node:net';

/** `preferred` if nothing listens there, otherwise the next free port above it. */
export async function nextFreePort(preferred) {
  for (let port = preferred; port < preferred + 100; port += 1) {
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${preferred} to ${preferred + 99} is free.`);
}

/** Whether 127.0.0.1:port is free, also of listeners on all addresses, which a listener on 127.0.0.1 would hide. */
export async function isFree(port) {
  return (await canListen(port, '127.0.0.1')) && !(await answers('127.0.0.1', port, 500));
}

/** Ports that were returned; their listeners may not have started yet. */
const given = new Set();

/**
 * A free port outside the ranges of outgoing connections: those begin at 32768 (Linux) or 49152 (others). A process
 * that listens seconds later, or again after a restart, still finds it free. Each port is returned once in this
 * process.
 */
export async function anyFreePort() {
  let port = await nextFreePort(15_000 + Math.floor(Math.random() * 17_000));
  while (given.has(port)) port = await nextFreePort(port + 1);
  given.add(port);
  return port;
}

/** Whether a TCP connection is accepted within `timeoutMs`. */
export function answers(host, port, timeoutMs) {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (answered) => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(timeoutMs, () => settle(false));
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}

function canListen(port, host) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
