import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { untilHealthy } from '../../start/app-process.mjs';
import { costsBetween, OTHERS, readCosts } from '../costs.mjs';
import { readRecords } from '../kafka/read-records.mjs';
import { withTopics } from '../kafka/topics.mjs';
import { keepOnOneCore, startIngest, withoutThatCore } from '../programs.mjs';
import { percentile } from '../statistics.mjs';
import { WrongResult } from '../outcomes.mjs';

const SENDER = fileURLToPath(new URL('../http-sender/main.mjs', import.meta.url));
const TOPIC = 'erp.work-order-lists.v1';
const INPUT_TOPICS = [TOPIC, 'erp.work-orders.v1', 'mes.downtime-reasons.v1'];
const PER_SECOND = 2000;
const PACED_SECONDS = 20;
// a new process takes about that many requests until its code is compiled, more on one core
const WARM_UP = 50_000;
const AT_ONCE = 128;
const MOST = 40_000;
/** More than ever are in use, so that a slow answer does not slow the sender. */
const CONNECTIONS = 500;
const MS = { digits: 1 };
/** As after hours of operation. */
const MILLION = 1_000_000;
const CASES = [
  { of: 'with ids', hasIds: true, before: 0 },
  { of: 'after a million ids', hasIds: true, before: MILLION },
  { of: 'without ids', hasIds: false, before: 0 },
];

export const ingest = {
  name: 'ingest',
  title: `${PER_SECOND.toLocaleString('en-US')} lists a second by HTTP into ingest on one core, then as many as it takes`,
  async round(bench, figures) {
    for (const { of, hasIds, before } of CASES) {
      await withIngest(bench, async (plant) => {
        const { app } = plant;
        figures.add(of, 'cores that the process may use', (await keepOnOneCore(app)) ? 1 : NaN);
        const paced = { hasIds, perSecond: PER_SECOND, connections: CONNECTIONS };
        await bench.step(`${of}: warming up`, () => post(plant, { ...paced, count: WARM_UP }));
        const earlier = { hasIds, connections: AT_ONCE, count: bench.scaled(before) };
        if (before > 0) await bench.step(`${of}: those`, () => post(plant, earlier));
        const count = PER_SECOND * bench.scaled(PACED_SECONDS);
        const run = await bench.step(`${of}, paced`, () => measure(plant, { ...paced, count }));
        addFound(figures, `${of}, ${PER_SECOND} a second`, run);
        const most = { hasIds, connections: AT_ONCE, count: bench.scaled(MOST) };
        const full = await bench.step(`${of}, all it takes`, () => measure(plant, most));
        addFound(figures, `${of}, ${AT_ONCE} at once`, full);
        await requireWritten(plant);
      });
    }
  },
};

/** Runs `body` with an ingest that is ready and a sender, and removes the topics. */
function withIngest(bench, body) {
  return withTopics(bench.admin, INPUT_TOPICS, async (prefix) => {
    const sender = fork(SENDER, { signal: bench.shutdown.signal });
    sender.on('error', () => undefined);
    let app;
    try {
      app = await startIngest(bench, prefix);
      await untilHealthy(app, `${app.url}/health/ready`);
      await withoutThatCore([sender.pid, bench.brokerPid], () =>
        body({ ...bench, prefix, app, sender, posted: { count: 0 } }),
      );
    } finally {
      sender.kill();
      await app?.stop();
    }
  });
}

async function post({ app, sender, posted }, load) {
  const name = String(posted.count);
  posted.count += load.count;
  sender.send({ task: 'post', url: app.url, name, ...load });
  const [answer] = await Promise.race([once(sender, 'message'), app.ended.then(ended)]);
  return answer;
}

function ended(why) {
  throw new WrongResult(`  ${why}`);
}

async function measure(plant, load) {
  const { app, sender, brokerPid } = plant;
  const report = async () => {
    sender.send({ task: 'report' });
    const [answer] = await once(sender, 'message');
    return answer;
  };
  const programs = { service: { report }, brokerPid };
  const start = await readCosts(programs, app, async () => 0);
  const { seconds, statuses, latencies } = await post(plant, load);
  const costs = costsBetween(start, await readCosts(programs, app, async () => load.count));
  if (statuses[202] !== load.count) {
    throw new WrongResult(`  of ${load.count} lists: ${JSON.stringify(statuses)} by status`);
  }
  return { ...costs, latencies, rate: load.count / seconds, isPaced: load.perSecond !== undefined };
}

function addFound(figures, of, { rate, latencies, cpuSeconds, messages, corePercent, isPaced }) {
  // the time includes the requests under way when the last one is sent
  figures.add(of, 'requests a second', rate, isPaced ? { atLeast: PER_SECOND * 0.99 } : {});
  figures.add(of, 'p50 from due to answer, ms', percentile(latencies, 0.5), MS);
  const p99 = percentile(latencies, 0.99);
  figures.add(of, 'p99 from due to answer, ms', p99, isPaced ? { atMost: 100, ...MS } : MS);
  figures.add(of, 'longest, ms', percentile(latencies, 1));
  figures.add(of, 'CPU a request, µs', (cpuSeconds.process * 1e6) / messages);
  figures.add(of, 'process: % of a core', corePercent.process);
  figures.add(of, 'sender: % of a core', corePercent.service);
  figures.add(of, 'broker: % of a core', corePercent.broker);
  figures.add(of, OTHERS, corePercent.others);
}

async function requireWritten(plant) {
  const { posted, prefix } = plant;
  const written = await readRecords(plant, prefix + TOPIC, () => 1);
  if (written.length !== posted.count) {
    throw new WrongResult(`  ${posted.count} lists answered, ${written.length} written`);
  }
}
