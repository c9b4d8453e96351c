import type { Identity } from './authority.js';
import { TlsListener } from './tls-listener.js';

/** A service that begins every answer and ends none, of a kind that only the end of its connection would end. */
export interface EndlessAnswers {
  url: string;
  /** Connections with such an answer that have been given up. */
  givenUp: () => number;
  close: () => Promise<void>;
}

export async function startEndlessAnswers(identity: Identity): Promise<EndlessAnswers> {
  let givenUp = 0;
  const listener = await TlsListener.start(identity, (caller) => {
    caller.once('data', () => {
      caller.once('close', () => {
        givenUp += 1;
      });
    });
    caller.on('data', () => caller.write('HTTP/1.1 200 OK\r\n\r\n['));
  });
  return { url: listener.url, givenUp: () => givenUp, close: () => listener.close() };
}
