import { latestUpdateSeconds } from './plant.mjs';

/**
 * How regularly machines were polled between two moments, in seconds: `gaps` between the polls of a machine, `delays`
 * from its latest update to each poll; `missed` turns; `busiest` second divided by the mean of all. Times are epoch ms.
 *
 * For `missed`, both moments count as polls.
 */
export function pollTurns(polls, { machines, intervalMs, fromMs, toMs }) {
  const latestMs = new Float64Array(machines).fill(fromMs);
  const seen = new Uint8Array(machines);
  const perSecond = new Uint32Array(Math.ceil((toMs - fromMs) / 1000));
  const turns = { count: 0, gaps: [], delays: [], missed: 0 };
  const missedIn = (gapMs) => Math.max(0, Math.round(gapMs / intervalMs) - 1);
  for (let row = 0; row < polls.length; row += 1) {
    const [machine, atMs] = [polls.machine[row], polls.arrivedMs[row]];
    if (atMs < fromMs || atMs >= toMs) continue;
    const gapMs = atMs - latestMs[machine];
    turns.count += 1;
    turns.missed += missedIn(gapMs);
    if (seen[machine]) turns.gaps.push(gapMs / 1000);
    turns.delays.push(atMs / 1000 - latestUpdateSeconds(machine, atMs / 1000, intervalMs / 1000));
    perSecond[Math.floor((atMs - fromMs) / 1000)] += 1;
    latestMs[machine] = atMs;
    seen[machine] = 1;
  }
  for (const ms of latestMs) turns.missed += missedIn(toMs - ms);
  return { ...turns, busiest: (Math.max(...perSecond) * perSecond.length) / turns.count };
}

/** When a caller's first poll came, or NaN. */
export function firstPollMs(polls, caller) {
  return polls.arrivedMs[polls.caller.indexOf(caller)] ?? NaN;
}

/** The time from which a caller's polls came at `perSecond`, or nine tenths of it, for `forMs`; NaN if they never did. */
export function fullRateMs(polls, caller, { perSecond, forMs }) {
  const times = polls.arrivedMs.filter((_, row) => polls.caller[row] === caller);
  const enough = Math.ceil(0.9 * perSecond * (forMs / 1000));
  return times.find((ms, index) => times[index + enough - 1] < ms + forMs) ?? NaN;
}
