import type { Environment } from '#libs/config';

/** Paths that every operator, probe or scraper may ask. */
const PATHS = {
  bridge: ['/health/live', '/health/ready', '/metrics', '/api/flows', '/api/machines'],
  ingest: ['/health/live', '/health/ready', '/metrics', '/openapi.json'],
  terminal: ['/health/live', '/health/ready', '/metrics', '/api/session'],
};
const WITHIN_MS = 2000;

/**
 * Makes an app answer after everything that has happened to it in a test, because its answers are searched for secrets.
 * The app may answer late or not at all.
 */
export async function askOnceMore(
  app: keyof typeof PATHS,
  url: string,
  { BRIDGE_API_TOKEN: token }: Environment = {},
): Promise<void> {
  const asking = {
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    signal: AbortSignal.timeout(WITHIN_MS),
  };
  const answers = PATHS[app].map(async (path) => (await fetch(url + path, asking)).text());
  await Promise.allSettled(answers);
}
