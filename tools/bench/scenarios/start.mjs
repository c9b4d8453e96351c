import { processCpuSeconds } from '../costs.mjs';
import { REASONS } from '../load.mjs';
import { startBridge, untilCount } from '../programs.mjs';
import { withTrial } from '../trial.mjs';

const MACHINES = 1000;
const STARTS = 3;
const POLL_MS = 20;
const SETTINGS = { BRIDGE_FLOWS: 'work-orders,downtime-reasons,machine-states' };
const MOST_SECONDS = { atMost: 2, digits: 2 };
const MOST_CPU_SECONDS = { atMost: 1.5, digits: 2 };

export const start = {
  name: 'start',
  title: 'from the start of a process until it is ready, with all flows',
  round: (bench, figures) =>
    withTrial(bench, { flow: REASONS, machines: MACHINES }, async (trial) => {
      const first = await bench.step('new topics', () => startOnce(trial));
      figures.add('new topics', 'seconds until ready', first.seconds, { digits: 2 });
      for (let number = 1; number <= STARTS; number += 1) {
        const of = `start ${number} of ${STARTS}`;
        const { seconds, cpuSeconds } = await bench.step(of, () => startOnce(trial));
        figures.add('topics that exist', 'seconds until ready', seconds, MOST_SECONDS);
        figures.add('topics that exist', 'seconds of CPU until then', cpuSeconds, MOST_CPU_SECONDS);
      }
    }),
};

async function startOnce(trial) {
  const startMs = performance.now();
  const app = await startBridge(trial, { settings: SETTINGS });
  try {
    await untilCount(app, () => readiness(app), 1, POLL_MS);
    const seconds = (performance.now() - startMs) / 1000;
    return { seconds, cpuSeconds: await processCpuSeconds(await app.pid) };
  } finally {
    await app.stop();
  }
}

/** 1 when the process is ready. */
function readiness({ url }) {
  return fetch(`${url}/health/ready`).then(
    ({ ok }) => Number(ok),
    () => 0,
  );
}
