import { once } from 'node:events';
import { createServer } from 'node:http';
import { addLoad, drain } from '../drain.mjs';
import { LISTS, machinesByTurns } from '../load.mjs';
import { withTrial } from '../trial.mjs';

const MACHINES = 20_000;
const LISTS_A_MACHINE = 60;
/** From this list on the code is compiled, with and without traces; a bridge works for months. */
const COUNTED_FROM = 400_000;
const SAMPLER = 'parentbased_traceidratio';
/** Forwards and backwards, so that a drift of the computer affects all cases equally. */
const RUNS = ['off', '1 %', '10 %', '10 %', '1 %', 'off'];
const MOST_COST_PERCENT = { atMost: 3, digits: 1 };

export const traces = {
  name: 'traces',
  title: 'what traces cost, with lists in waves, once the code is compiled',
  rounds: 1,
  async round(bench, figures) {
    await withCollector(async (collector) => {
      const costs = { off: 0, '1 %': 0, '10 %': 0 };
      for (const sampled of RUNS) {
        const settings = tracingSettings(sampled, collector.url);
        const run = await bench.step(sampled, () => drainLists(bench, settings));
        costs[sampled] += run.cpuUs;
        figures.add(sampled, 'CPU a message, µs', run.cpuUs, { digits: 1 });
        addLoad(figures, sampled, run);
      }
      const { off, '1 %': few, '10 %': many } = costs;
      figures.add('cost', '% more CPU at 1 %', (few / off - 1) * 100, MOST_COST_PERCENT);
      figures.add('cost', '% more CPU at 10 %', (many / off - 1) * 100, { digits: 1 });
      figures.add('cost', 'exports that the collector got', collector.exports());
    });
  },
};

/** @param sampled a percentage, or `off` */
function tracingSettings(sampled, collectorUrl) {
  if (sampled === 'off') return {};
  return {
    OTEL_TRACES_SAMPLER: SAMPLER,
    OTEL_TRACES_SAMPLER_ARG: String(Number.parseInt(sampled) / 100),
    OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
  };
}

function drainLists(bench, settings) {
  const machines = bench.scaled(MACHINES);
  const machineOf = machinesByTurns(machines);
  const count = machines * LISTS_A_MACHINE;
  const load = { flow: LISTS, machineOf, count, countedFrom: bench.scaled(COUNTED_FROM), settings };
  return withTrial(bench, { flow: LISTS, machines }, (trial) => drain(trial, load));
}

/** Accepts exported spans and drops them: the collector's cost is not the bridge's. */
async function withCollector(body) {
  let exports = 0;
  const server = createServer((request, response) => {
    exports += 1;
    request.resume().on('end', () => response.end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    return await body({
      url: `http://127.0.0.1:${server.address().port}`,
      exports: () => exports,
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
