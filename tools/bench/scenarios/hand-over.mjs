import { untilCount } from '../programs.mjs';
import { percentile } from '../statistics.mjs';
import { startFirst } from '../states/phases.mjs';
import {
  changeSome,
  startPolling,
  untilAllPolled,
  untilPublished,
  withPlant,
} from '../states/plant-trial.mjs';
import { pollsAcross, unevenness } from '../states/polls-across.mjs';

const MACHINES = 10_000;
const TENTHS = { digits: 1 };

export const handOver = {
  name: 'hand-over',
  // minutes of real time, and every machine that moves is a measurement of its own
  rounds: 1,
  title: `${MACHINES.toLocaleString('en-US')} machines polled once a minute by one process, by two, by three, and after one is killed`,
  round: (bench, figures) =>
    withPlant(bench, { machines: MACHINES }, async (plant) => {
      const first = await bench.step('one process', () => startFirst(plant, 'first'));
      const pass = async (of, act) => {
        const { app, ...found } = await bench.step(of, () => watch(plant, first, act));
        addFound(figures, of, plant, found);
        return app;
      };
      await pass('a second joins', () => join(plant, 'second'));
      const third = await pass('a third joins', () => join(plant, 'third'));
      await pass('the third is killed', () => third.kill());
    }),
};

/** Starts a process; yields it when it has polled its first machine. */
async function join(plant, name) {
  const callers = async () => (await plant.service.report()).callers.length;
  const before = await callers();
  const app = await startPolling(plant, name);
  await untilCount(app, callers, before + 1);
  return app;
}

/** Machines change meanwhile: another process must publish what one had read but not published. */
async function watch(plant, first, act) {
  const fromMs = Date.now();
  await changeSome(plant);
  const app = await act();
  await untilAllPolled(plant, first);
  await untilPublished(plant, first);
  const polls = await plant.service.polls();
  return { app, ...pollsAcross(polls, { machines: plant.machines, fromMs }) };
}

function addFound(figures, of, { intervalSeconds }, { moved, stayed, shares }) {
  const beyond = (values, q) => percentile(values, q) / 1000 - intervalSeconds;
  figures.add(of, 'processes', shares.length);
  figures.add(of, 'furthest from an even share, %', unevenness(shares), { atMost: 10, ...TENTHS });
  figures.add(of, 'machines that moved', moved.length);
  figures.add(of, 'their median beyond the interval, s', beyond(moved, 0.5), TENTHS);
  figures.add(of, 'their longest beyond the interval, s', beyond(moved, 1), {
    atMost: 10,
    ...TENTHS,
  });
  figures.add(of, "the others' longest beyond the interval, s", beyond(stayed, 1), TENTHS);
}
