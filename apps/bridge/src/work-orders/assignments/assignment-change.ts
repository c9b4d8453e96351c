import { type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { ownKey } from '../own-key.js';
import { type OrderAssignment } from './assigned-operation.js';

/**
 * Without the prefix: what the orders of one message change on one machine, in the partition of the machine's
 * id. Each under a key of its own: the topic is compacted, and keeps a change until there is a tombstone for it.
 */
export const ASSIGNMENT_CHANGES = 'machine-bridge.assignment-changes.v1';

/**
 * What one message changes on one machine. All its orders together, so that it is answered once a
 * machine, whatever the document holds.
 */
export interface AssignmentChange {
  machineId: string;
  /** In the order of the document. */
  orders: readonly OrderAssignment[];
  /** The message that asked for it. */
  source: OutcomeSource;
  /** Of that message, where its orders are not named here. */
  key?: string | null;
  /** The list is set, but nothing told of it: another of the message's changes tells of all on this machine. */
  isPart?: true;
}

export function changeRecord(topicPrefix: string, change: AssignmentChange): OutboundRecord {
  const { machineId, source } = change;
  return {
    topic: `${topicPrefix}${ASSIGNMENT_CHANGES}`,
    key: ownKey(`${machineId}/${source.partition}/${source.offset}`),
    partitionKey: machineId,
    value: JSON.stringify(change),
    headers: {},
  };
}

/** Before keys were each change's own, they were the machine's: a tombstone would go for all its changes. */
export function hasOwnKey(key: Buffer | null, { machineId }: AssignmentChange): key is Buffer {
  return key !== null && key.length > Buffer.byteLength(machineId);
}

/** The bridge alone writes these; undefined for what is none of them. */
export function parseAssignmentChange(value: Buffer | null): AssignmentChange | undefined {
  try {
    const change = JSON.parse(value?.toString() ?? 'null') as Partial<AssignmentChange> | null;
    if (typeof change?.machineId !== 'string' || typeof change.source !== 'object')
      return undefined;
    return Array.isArray(change.orders) ? (change as AssignmentChange) : undefined;
  } catch {
    return undefined;
  }
}
