const REQUEST_TIMEOUT_MS = 10_000;

/** Of Fastify. A whole request must be there within this time, also one that never begins; its answer may be later. */
export const SERVER_TIMEOUT = { requestTimeout: REQUEST_TIMEOUT_MS } as const;

/**
 * Of Node's server, by plain HTTP or TLS. Node takes the longer of both times for the whole request: with its default
 * of a minute for the head, half a body would stay as long. It looks for late requests once in the interval.
 */
export const SERVER_CHECKS = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
} as const;

/** Answers are data of the moment, and no page. */
export const DATA_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
} as const;
