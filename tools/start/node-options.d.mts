/** What Node starts the bridge with, as in package.json and the Dockerfile; see docs/decisions/0038-bounded-heap.md. */
export const BRIDGE_NODE_OPTIONS: readonly string[];
