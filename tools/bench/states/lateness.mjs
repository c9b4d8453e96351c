const BUCKET = /^machine_bridge_poll_lateness_seconds_bucket\{le="([^"]+)"\} (\S+)$/gm;

/** The bridge's own count of late polls: polls up to each limit, by the limit in seconds. */
export async function readLateness(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(BUCKET)].map(([, limit, count]) => {
    return { limit: limit === '+Inf' ? Infinity : Number(limit), count: Number(count) };
  });
}

/** The limit of the bucket below which the share `q` of the counts between two readings lies; NaN if there are none. */
export function bucketQuantile(before, after, q) {
  const counts = after.map(({ limit, count }, index) => {
    return { limit, count: count - (before[index]?.count ?? 0) };
  });
  const total = counts.at(-1)?.count ?? 0;
  if (total === 0) return NaN;
  return counts.find(({ count }) => count >= q * total).limit;
}
