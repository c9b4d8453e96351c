import { setFlagsFromString } from 'node:v8';

const MANY_MACHINES = 20_000;
let growingPercent = Infinity;

/**
 * With many machines V8 lets a heap grow to three times what is in it, and keeps pages that are mostly
 * empty: 170 MB of a hundred thousand machines come to 600. Cleaning up sooner and moving together what is
 * left costs a few per cent of a core then; with few it would cost commands a third of their speed, for
 * nothing.
 */
export function tightenHeapForMachines(machines: number): void {
  if (machines < MANY_MACHINES) return;
  growAtMost(25);
  setFlagsFromString('--optimize-for-size');
}

/**
 * A flood of orders leaves much behind that has outlived the young heap: 140 MB in use come to 500, and more the
 * longer it lasts. Twice what is in use costs a few per cent.
 */
export function tightenHeapForOrders(): void {
  growAtMost(100);
}

/** What was asked for first holds if it is less: whoever comes second does not know of the first. */
function growAtMost(percent: number): void {
  if (percent >= growingPercent) return;
  growingPercent = percent;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}
