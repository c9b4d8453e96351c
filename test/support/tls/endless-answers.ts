import { type Identity } from './authority.js';
import { TlsListener } from './tls-listener.js';

/** A service that begins every answer and ends none, of a kind that only the end of its connection would end. */
export interface EndlessAnswers {
  url: string;
  /** How many it has begun. */
  begun: () => number;
  close: () => Promise<void>;
}

export async function startEndlessAnswers(identity: Identity): Promise<EndlessAnswers> {
  let begun = 0;
  const listener = await TlsListener.start(identity, (caller) => {
    caller.on('data', () => {
      begun += 1;
      caller.write('HTTP/1.1 200 OK\r\n\r\n[');
    });
  });
  return { url: listener.url, begun: () => begun, close: () => listener.close() };
}
