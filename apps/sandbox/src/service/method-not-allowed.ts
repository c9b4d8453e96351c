import type { FastifyInstance } from 'fastify';
import { METHODS_OF, OPERATIONS, PATHS_OF } from './operations.js';
import { errorBody } from '../http/error-body.js';

const METHODS_OF_PATH = new Map<string, readonly string[]>(
  OPERATIONS.flatMap((operation) =>
    PATHS_OF[operation].map((path) => [`/api/v1/${path}`, METHODS_OF[operation]] as const),
  ),
);

/** Answers a method that an operation does not have with 405 and those it has. */
export function refuseOtherMethods(instance: FastifyInstance): void {
  instance.addHook('onRequest', (request, reply, done) => {
    const [path = ''] = request.url.split('?', 1);
    const methods = request.is404 ? METHODS_OF_PATH.get(path) : undefined;
    if (!methods) {
      done();
      return;
    }
    const message = `${request.method} is not a method of this operation`;
    reply.code(405).header('allow', methods.join(', ')).send(errorBody(405, message));
  });
}
