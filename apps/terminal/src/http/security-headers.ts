import type { FastifyInstance } from 'fastify';

/** The page is of one piece and of this server alone: nothing inline, nothing from elsewhere, in nobody's frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export function addSecurityHeaders(instance: FastifyInstance): void {
  instance.addHook('onRequest', (request, reply, done) => {
    void reply.headers(HEADERS);
    if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store');
    done();
  });
}
