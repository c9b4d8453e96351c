import { STATE_EVENT_TYPES, type StateChanged, TOPICS } from '#libs/contracts';
import type { ReadRecord } from '../topic-reader.js';

/** An event of machine M as a subscriber reads it. */
export function eventRecord(
  type: keyof typeof STATE_EVENT_TYPES,
  { id = 'id', sequence = 1 }: { id?: string; sequence?: number },
  data: Partial<StateChanged> & Record<string, unknown>,
): ReadRecord {
  const headers = {
    ce_id: Buffer.from(id),
    ce_type: Buffer.from(STATE_EVENT_TYPES[type]),
    ce_sequence: Buffer.from(String(sequence)),
  };
  const value = Buffer.from(JSON.stringify({ machineId: 'M', ...data }));
  const place = { topic: TOPICS.stateChanges, partition: 0, offset: sequence };
  return { ...place, key: Buffer.from('M'), value, headers };
}
