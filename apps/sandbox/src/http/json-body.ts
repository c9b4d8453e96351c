import type { FastifyInstance } from 'fastify';

/** 1 MiB; a larger body is answered with 413. */
export const BODY_LIMIT = 1024 * 1024;

/**
 * Accepts JSON bodies alone (anything else is a 415) and takes an empty one for none: the
 * interface's sample for the reason list is a POST with a JSON content type and an empty body.
 */
export function acceptJsonBodies(instance: FastifyInstance): void {
  const parseJson = instance.getDefaultJsonParser('error', 'error');
  instance.removeContentTypeParser(['text/plain']);
  instance.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: BODY_LIMIT },
    (request, body: string, done) => {
      if (body === '') done(null, undefined);
      else void parseJson(request, body, done);
    },
  );
}
