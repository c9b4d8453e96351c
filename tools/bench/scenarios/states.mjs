import { addLoad } from '../drain.mjs';
import { startFirst, watchChanges, watchRestart, watchSteady } from '../states/phases.mjs';
import { withPlant } from '../states/plant-trial.mjs';
import { percentile } from '../statistics.mjs';

const TENTHS = { digits: 1 };
const SECONDS = { digits: 2 };
const IN_SECONDS = { p50: SECONDS, p99: SECONDS, longest: SECONDS };

export const states = statesOf('states', 10_000, { process: { atMost: 15 } });
export const manyStates = statesOf('states-100k', 100_000, {
  process: { atMost: 100 },
  rssMb: { atMost: 350 },
});

function statesOf(name, machines, targets) {
  return {
    name,
    // minutes of real time; its thousands of polls are measurements enough
    rounds: 1,
    title: `${machines.toLocaleString('en-US')} machines polled once a minute by one process, changes and a restart`,
    round: (bench, figures) =>
      withPlant(bench, { machines }, async (plant) => {
        const app = await bench.step('seeing all machines', () => startFirst(plant, name));
        const steady = await bench.step('three intervals', () => watchSteady(plant, app));
        addTurns(figures, plant, steady);
        addCosts(figures, steady, targets);
        const changes = await bench.step('5 % change', () => watchChanges(plant, app));
        addChanges(figures, changes);
        const restart = await bench.step('restart', () => watchRestart(plant, app));
        addRestart(figures, plant, restart);
      }),
  };
}

function addTurns(figures, { intervalSeconds }, { turns, due, latenessSeconds, logsRead }) {
  const of = `every ${intervalSeconds} s`;
  const late = turns.gaps.map((gap) => Math.max(0, gap - intervalSeconds));
  figures.add(of, 'polls', turns.count);
  figures.add(of, 'polls, % of those due', (turns.count / due) * 100, { atLeast: 99, ...TENTHS });
  figures.add(of, 'missed polls', turns.missed, { atMost: 0 });
  figures.addSpread(of, 'between polls, s', turns.gaps, IN_SECONDS);
  figures.add(of, 'p99 beyond the interval, s', percentile(late, 0.99), { atMost: 2, ...SECONDS });
  figures.add(of, 'p99 late by its own count, s', latenessSeconds, { atMost: 2, ...TENTHS });
  figures.addSpread(of, 'from update to poll, s', turns.delays, IN_SECONDS);
  figures.add(of, 'busiest second, times the mean', turns.busiest, SECONDS);
  figures.add(of, 'activity logs read', logsRead);
}

function addCosts(figures, steady, targets) {
  const of = 'what that takes';
  figures.add(of, 'CPU a poll, ms', steady.cpuUs / 1000, { digits: 3 });
  figures.add(of, 'highest RSS, MB', steady.rssMb, targets.rssMb);
  addLoad(figures, of, steady, targets);
}

function addChanges(figures, { sinceAnswer, sinceUpdate, corrections }) {
  const of = '5 % change';
  figures.add(of, 'changes', sinceAnswer.length);
  figures.add(of, 'corrections', corrections, { atMost: 0 });
  const options = { ...IN_SECONDS, longest: { atMost: 5, ...SECONDS } };
  figures.addSpread(of, 'from poll to event, s', sinceAnswer, options);
  figures.add(of, 'p99 from update to event, s', percentile(sinceUpdate, 0.99), SECONDS);
}

function addRestart(figures, { intervalSeconds }, found) {
  const of = 'restart';
  figures.add(of, 'first poll after, s', found.firstPollAfter, TENTHS);
  figures.add(of, 'full rate after, s', found.fullRateAfter, { atMost: 15, ...TENTHS });
  const beyond = found.longestWithout - intervalSeconds;
  figures.add(of, 'longest beyond the interval, s', beyond, TENTHS);
}
