/**
 * Options of Node for each app, as in package.json and the Dockerfile; see docs/decisions/0038-bounded-heap.md and
 * 0047-ingest.md. Apps without an entry need none.
 */
export const NODE_OPTIONS: Readonly<Record<'bridge' | 'ingest', readonly string[]>> &
  Readonly<Record<string, readonly string[] | undefined>>;
