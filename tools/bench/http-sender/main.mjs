// A sender of lists in a separate process. Its load comes as a message; it sends the result back as one.
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';

const MACHINES = 1000;
const PACE_MS = 2;
const pools = new Map();

process.on('message', async ({ task, ...load }) => {
  const { user, system } = process.cpuUsage();
  const answer = task === 'report' ? { cpuSeconds: (user + system) / 1e6 } : await post(load);
  process.send(answer);
});
process.on('disconnect', () => process.exit(0));

/**
 * Posts `count` lists, `perSecond` or, without it, as fast as `connections` allow. Yields `{seconds, statuses,
 * latencies}`: the number of answers by status, and the milliseconds from when each request was due until its answer.
 */
async function post({ url, name, count, perSecond, connections, hasIds }) {
  const pool = poolOf(url, connections);
  const statuses = {};
  const latencies = [];
  const startMs = performance.now();
  const postOne = async (number, dueMs) => {
    const { statusCode, body } = await pool.request({
      ...{ path: '/lists', method: 'POST', body: listOf(number) },
      headers: {
        'content-type': 'application/json',
        ...(hasIds && { 'idempotency-key': `${name}-${number}` }),
      },
    });
    await body.dump();
    latencies.push(performance.now() - dueMs);
    statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
  };
  if (perSecond === undefined) {
    let next = 0;
    const postNext = async () => {
      while (next < count) await postOne((next += 1), performance.now());
    };
    await Promise.all(Array.from({ length: connections }, postNext));
  } else {
    const sent = [];
    while (sent.length < count) {
      const due = Math.min(count, ((performance.now() - startMs) / 1000) * perSecond);
      while (sent.length < due) {
        sent.push(postOne(sent.length, startMs + (sent.length / perSecond) * 1000));
      }
      await delay(PACE_MS);
    }
    await Promise.all(sent);
  }
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, statuses, latencies };
}

/** Kept from one load to the next, because opening hundreds of connections at once is not what the bench measures. */
function poolOf(url, connections) {
  const name = `${connections} to ${url}`;
  const pool =
    pools.get(name) ?? new Pool(url, { connections, pipelining: 1, headersTimeout: 60_000 });
  pools.set(name, pool);
  return pool;
}

function listOf(number) {
  const orders = Array.from({ length: 5 }, (_, index) => `${4_000_000 + number * 5 + index}`);
  return JSON.stringify({ machineId: `M-${number % MACHINES}`, workingOrders: orders });
}
