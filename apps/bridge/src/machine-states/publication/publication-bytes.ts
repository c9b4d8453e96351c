import { type OutboundRecord } from '#libs/kafka';
import { type TrackedMachine } from '../derivation/tracked-machine.js';

/**
 * Half of what Kafka takes as a batch by default (1 MB): a transaction that is refused would be derived
 * again as it was, and refused again, for ever.
 */
export const MAX_TRANSACTION_BYTES = 512 * 1024;

/** Headers and framing, roughly. */
const OVERHEAD_BYTES = 512;

export function recordBytes({ key, value }: Pick<OutboundRecord, 'key' | 'value'>): number {
  const size = (part: Buffer | string | null): number =>
    part === null ? 0 : Buffer.byteLength(part);
  return size(key) + size(value) + OVERHEAD_BYTES;
}

/** Of what is remembered of a machine, as it is stored. */
export function trackedBytes(tracked: TrackedMachine): number {
  return recordBytes({ key: tracked.machineId, value: JSON.stringify(tracked) });
}
