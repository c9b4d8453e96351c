import { connect } from 'node:net';
import type { Identity } from './authority.js';
import { TlsListener } from './tls-listener.js';

/** Ends TLS in front of a service, as a cloud's load balancer does. */
export interface ServiceGateway {
  url: string;
  /** How callers ended their connections: `end` for an orderly end, otherwise the code of the error. */
  ends: readonly string[];
  close: () => Promise<void>;
}

export async function startServiceGateway(
  serviceUrl: string,
  identity: Identity,
): Promise<ServiceGateway> {
  const { hostname, port } = new URL(serviceUrl);
  const ends: string[] = [];
  const listener = await TlsListener.start(identity, (caller) => {
    const service = connect(Number(port), hostname);
    caller.once('end', () => ends.push('end'));
    caller.once('error', ({ code }: NodeJS.ErrnoException) => ends.push(String(code)));
    service.on('error', () => caller.destroy());
    caller.once('close', () => service.destroy());
    service.once('close', () => caller.destroy());
    caller.pipe(service).pipe(caller);
  });
  return { url: listener.url, ends, close: () => listener.close() };
}
