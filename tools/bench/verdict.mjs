import { countByKind, faultsOf } from './outcomes.mjs';

/** The bridge did something it must not: the figures of such a run are worth nothing. */
export class WrongResult extends Error {}

/**
 * Checks what a run has led to against what it must have led to.
 *
 * `lasts`: the ordinal each machine must have received last.
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

/** What is wrong with the calls by the service's account; `mayRepeat` where what is set again is no fault. */
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
