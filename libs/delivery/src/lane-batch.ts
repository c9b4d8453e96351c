import { type Lane } from './lane.js';

/** Something to be done for one machine, in the order of its lane. */
export interface LaneEntry {
  readonly machineId: string;
  /** Size in a request, in bytes; asked for as it is put together. */
  readonly bytes: number;
}

export interface BatchLimits {
  maxMachines: number;
  maxBytes: number;
}

/**
 * The lanes whose first entries leave together in one request, none of them in larger company than it may keep.
 *
 * @param lanes in the order of their turns
 * @param share of them that the request is for at the most, whatever the limits
 */
export function chooseBatch<T extends LaneEntry>(
  lanes: Iterable<Lane<T>>,
  { maxMachines, maxBytes }: BatchLimits,
  share: number,
): Lane<T>[] {
  const chosen: Lane<T>[] = [];
  let company = Math.min(maxMachines, share);
  let bytes = 0;
  for (const lane of lanes) {
    if (chosen.length >= company) break;
    if (lane.first === undefined || chosen.length >= lane.company) continue;
    bytes += lane.first.bytes;
    if (chosen.length > 0 && bytes > maxBytes) break;
    company = Math.min(company, lane.company);
    chosen.push(lane);
  }
  return chosen;
}
