import { type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { ownKey } from '../own-key.js';
import { type OrderAssignment } from './assigned-operation.js';

/**
 * Without the prefix: what the orders of one message change on one machine, in the partition of the machine's
 * id. Each record under a key of its own: the topic is compacted, and keeps it until there is a tombstone for it.
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

/** What one record holds: enough to share its costs, and far from any limit. One change may be more by itself. */
const MOST_CHANGES = 32;
const MOST_CHARACTERS = 32 * 1024;

/** As it is written. */
interface StoredChanges {
  changes: readonly AssignmentChange[];
}

/** A record as it is put together. */
interface GatheredChanges {
  partition: number;
  key: string;
  texts: string[];
  length: number;
}

/** Changes that lie in the same partition share records: one for each would cost as much as all the rest of it. */
export function changeRecords(
  topicPrefix: string,
  changes: readonly AssignmentChange[],
  partitionOf: (machineId: string) => number,
): OutboundRecord[] {
  const all: GatheredChanges[] = [];
  const next = new Map<number, GatheredChanges>();
  for (const change of changes) {
    const { machineId, source } = change;
    const partition = partitionOf(machineId);
    const text = JSON.stringify(change);
    let gathered = next.get(partition);
    if (gathered === undefined || isFull(gathered, text)) {
      const key = ownKey(`${machineId}/${source.partition}/${source.offset}`);
      gathered = { partition, key, texts: [], length: 0 };
      next.set(partition, gathered);
      all.push(gathered);
    }
    gathered.texts.push(text);
    gathered.length += text.length;
  }
  const topic = `${topicPrefix}${ASSIGNMENT_CHANGES}`;
  return all.map(({ partition, key, texts }) => {
    return { topic, partition, key, value: `{"changes":[${texts.join(',')}]}`, headers: {} };
  });
}

function isFull({ texts, length }: GatheredChanges, text: string): boolean {
  return texts.length === MOST_CHANGES || length + text.length > MOST_CHARACTERS;
}

/** Before keys were each record's own, they were the machine's: a tombstone would go for all its changes. */
export function hasOwnKey(key: Buffer | null, { machineId }: AssignmentChange): key is Buffer {
  return key !== null && key.length > Buffer.byteLength(machineId);
}

/** The bridge alone writes these; undefined for what is none of them. */
export function parseAssignmentChanges(
  value: Buffer | null,
): readonly AssignmentChange[] | undefined {
  try {
    const json = JSON.parse(value?.toString() ?? 'null') as Partial<StoredChanges> | null;
    // earlier versions have written each by itself
    const changes: unknown = json?.changes ?? [json];
    if (!Array.isArray(changes) || changes.length === 0) return undefined;
    return changes.every(isAssignmentChange) ? changes : undefined;
  } catch {
    return undefined;
  }
}

function isAssignmentChange(json: unknown): json is AssignmentChange {
  const change = json as Partial<AssignmentChange> | null;
  if (typeof change?.machineId !== 'string' || typeof change.source !== 'object') return false;
  return Array.isArray(change.orders);
}
