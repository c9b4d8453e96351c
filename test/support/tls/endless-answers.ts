import type { Identity } from './authority.js';
import { TlsListener } from './tls-listener.js';

/** A service that begins every answer and never ends it; only the end of the connection would end such an answer. */
export interface EndlessAnswers {
  url: string;
  /** The number of connections with such an answer that their callers have closed. */
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
