import { connect, createServer } from 'node:net';

/** `preferred` if nothing listens there, else the next free port above it. */
export async function nextFreePort(preferred) {
  for (let port = preferred; port < preferred + 100; port += 1) {
    if (await isFree(port)) return port;
  }
  return anyFreePort();
}

/** Whether 127.0.0.1:port can be listened on, and nobody who listens on all addresses would be hidden by it. */
export async function isFree(port) {
  return (await canListen(port, '127.0.0.1')) && !(await answers('127.0.0.1', port, 500));
}

export function anyFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
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
