import { type Socket } from 'node:net';

export type CreateSocketFactory = () => (options: never) => Socket;

/**
 * Unrefs a socket once. kafkajs closes a connection as often as something fails on it. Of a socket that is gone, Node
 * keeps each time a listener for when it connects, which never comes: after ten it warns of a leak.
 */
export function unreferencedOnce(createFactory: CreateSocketFactory): CreateSocketFactory {
  return () => {
    const createSocket = createFactory();
    return (options) => {
      const socket = createSocket(options);
      let isUnreferenced = false;
      const unref = socket.unref.bind(socket);
      socket.unref = () => {
        if (isUnreferenced) return socket;
        isUnreferenced = true;
        return unref();
      };
      return socket;
    };
  };
}
