/** Of Fastify. A request has to be there whole within this time, also one that never begins; its answer may take longer. */
export const SERVER_TIMEOUT = { requestTimeout: 10_000 } as const;
/** Of Node's server, by plain HTTP or TLS: how often it looks for requests that are late. */
export const SERVER_CHECKS = { connectionsCheckingInterval: 1_000 } as const;

/** Answers are data of the moment, and no page. */
export const DATA_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
} as const;
