import { subscribe, unsubscribe } from 'node:diagnostics_channel';
// imports node:http first: its server then holds the channel. Node 20 forgets a channel that nobody holds, and later
// subscribers hear nothing.
import 'node:http';

const REQUESTS = 'http.server.request.start';

/**
 * Hands over, as Latin-1, everything that the HTTP servers of this process write from now on: heads, bodies, events.
 * Returns a function that ends it.
 */
export function watchServedHttp(onWritten) {
  const watched = new WeakSet();
  const onRequest = ({ socket }) => {
    if (watched.has(socket)) return;
    watched.add(socket);
    const write = socket.write.bind(socket);
    socket.write = (chunk, encoding, ...more) => {
      const isText = typeof chunk === 'string';
      onWritten(
        Buffer.from(chunk, isText && typeof encoding === 'string' ? encoding : 'utf8').toString(
          'latin1',
        ),
      );
      return write(chunk, encoding, ...more);
    };
  };
  subscribe(REQUESTS, onRequest);
  return () => unsubscribe(REQUESTS, onRequest);
}
