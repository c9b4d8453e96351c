const NOBODY = 0xffff;

/**
 * The machines' polls since `fromMs` (epoch ms), across joining or leaving processes.
 *
 * `moved` and `stayed`: the longest time without a poll, in ms, of each machine whose last caller has changed, and of
 * each other machine; `shares`: how many machines each caller has polled last.
 */
export function pollsAcross(polls, { machines, fromMs }) {
  const before = new Uint16Array(machines).fill(NOBODY);
  const after = new Uint16Array(machines).fill(NOBODY);
  const latestMs = new Float64Array(machines).fill(fromMs);
  const longestMs = new Float64Array(machines);
  for (let row = 0; row < polls.length; row += 1) {
    const [machine, atMs] = [polls.machine[row], polls.arrivedMs[row]];
    if (atMs < fromMs) before[machine] = polls.caller[row];
    else longestMs[machine] = Math.max(longestMs[machine], atMs - latestMs[machine]);
    after[machine] = polls.caller[row];
    latestMs[machine] = atMs;
  }
  const hasMoved = (_, machine) => before[machine] !== after[machine];
  return {
    moved: [...longestMs.filter(hasMoved)],
    stayed: [...longestMs.filter((ms, machine) => !hasMoved(ms, machine))],
    shares: sharesOf(after),
  };
}

/** How far the largest or smallest share is off an even one, in percent of it. */
export function unevenness(shares) {
  const even = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return Math.max(...shares.map((share) => Math.abs(share / even - 1) * 100));
}

function sharesOf(callers) {
  const counts = new Map();
  for (const caller of callers) counts.set(caller, (counts.get(caller) ?? 0) + 1);
  counts.delete(NOBODY);
  return [...counts.values()];
}
