const NONE = new Set();

/** The fields of a record of `machine.command-outcomes.v1` that the bench needs; `atMs` is the broker's time. */
export function readOutcome({ message }) {
  const { machineId, source, code } = JSON.parse(message.value);
  const { partition, offset } = source;
  const [, , kind] = /^([a-z-]+)\.(\w+)\.v1$/.exec(message.headers.ce_type.toString());
  return { machineId, partition, offset, kind, code, atMs: Number(message.timestamp) };
}

function isFinal({ kind }) {
  return kind !== 'deferred';
}

/**
 * Faults in the outcomes of an input topic whose messages name one machine each: every message must have exactly one
 * final outcome, and only some machines' messages may be rejected. Empty if there is none.
 *
 * @param ends the end offset of each partition of the input, which begins at 0
 */
export function faultsOf(outcomes, { ends, mayBeRejected = NONE }) {
  const seen = ends.map((end) => new Uint8Array(end));
  const faults = [];
  for (const { machineId, partition, offset, kind, code } of outcomes.filter(isFinal)) {
    const counts = seen[partition];
    if (counts?.[offset] === undefined)
      faults.push(`an outcome of ${partition}:${offset}, which nobody sent`);
    else counts[offset] = Math.min(2, counts[offset] + 1);
    if (kind === 'rejected' && !mayBeRejected.has(machineId))
      faults.push(`${machineId} rejected: ${code}`);
  }
  const all = seen.flatMap((counts) => [...counts]);
  const none = all.filter((count) => count === 0).length;
  const several = all.filter((count) => count > 1).length;
  if (none > 0) faults.push(`${none} messages without a final outcome`);
  if (several > 0) faults.push(`${several} messages with more than one final outcome`);
  return faults;
}

export function countByKind(outcomes) {
  const counts = { applied: 0, superseded: 0, rejected: 0, deferred: 0 };
  for (const { kind } of outcomes) counts[kind] += 1;
  return counts;
}

/** Outcomes a second, by the broker's clock: from the first to the last, or in the first `seconds`. */
export function ratePerSecond(outcomes, seconds = Infinity) {
  let [first, last] = [Infinity, -Infinity];
  for (const { atMs } of outcomes) {
    first = Math.min(first, atMs);
    last = Math.max(last, atMs);
  }
  const end = Math.min(last, first + seconds * 1000);
  return outcomes.filter(({ atMs }) => atMs <= end).length / ((end - first) / 1000);
}

/** Outcomes a second from one tenth to nine tenths of them, without beginning and end. */
export function steadyRatePerSecond(outcomes) {
  const times = Float64Array.from(outcomes, ({ atMs }) => atMs).sort();
  const [first, last] = [0.1, 0.9].map((share) => Math.floor(share * times.length));
  return (last - first) / ((times[last] - times[first]) / 1000);
}

/** Milliseconds from the input's time to the outcome's; `sentAt` is a function of partition and offset. */
export function latenciesMs(outcomes, sentAt) {
  return outcomes
    .filter(isFinal)
    .map(({ partition, offset, atMs }) => atMs - sentAt(partition, offset));
}

/** The bridge did something wrong, and the figures of the run do not count. */
export class WrongResult extends Error {}

/**
 * Compares the results of a run with those that it must have.
 *
 * `lasts`: the ordinal that each machine must have received last.
 *
 * @throws WrongResult
 */
export async function requireCorrect({ service }, { outcomes, ends, lasts, mayBeRejected }) {
  const { machines } = await service.report();
  const { applied } = countByKind(outcomes);
  const faults = faultsOf(outcomes, { ends, mayBeRejected });
  if (applied !== machines) faults.push(`${applied} applied, but the service received ${machines}`);
  requireNone([...faults, ...(await callFaults(service, lasts))]);
}

/** Faults in the calls, by the service's account; with `mayRepeat`, setting the same value again is allowed. */
export async function callFaults(service, lasts, { mayRepeat = false } = {}) {
  const [{ overlaps, disorders, repeats }, received] = await Promise.all([
    service.report(),
    service.lasts(),
  ]);
  const stale = Object.keys(lasts).filter((machineId) => received[machineId] !== lasts[machineId]);
  const faults = [];
  if (overlaps > 0) faults.push(`${overlaps} calls for a machine that had one under way`);
  if (disorders > 0) faults.push(`${disorders} calls out of order`);
  if (repeats > 0 && !mayRepeat) faults.push(`${repeats} calls made again`);
  if (stale.length > 0)
    faults.push(`${stale.length} machines, such as ${stale[0]}, without their last message`);
  return faults;
}

/** @throws WrongResult that names some of them */
export function requireNone(faults) {
  if (faults.length > 0) throw new WrongResult(describe(faults));
}

function describe(faults) {
  const more = faults.length > 5 ? `\n  and ${faults.length - 5} more` : '';
  return (
    faults
      .slice(0, 5)
      .map((fault) => `  ${fault}`)
      .join('\n') + more
  );
}
