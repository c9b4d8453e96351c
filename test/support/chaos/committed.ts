import { header, type ReadRecord } from '../topic-reader.js';
import type { ChaosPlant } from './chaos-plant.js';
import { COMMAND_KINDS, type CommandKind, readCommandId, TOPIC_OF } from './commands.js';
import type { Sent } from './delivery-faults.js';

/** Committed offsets, by kind and partition. */
export type CommittedOffsets = Record<CommandKind, ReadonlyMap<number, number>>;

export async function committedBy(plant: ChaosPlant): Promise<CommittedOffsets> {
  const [list, reason] = await Promise.all(
    COMMAND_KINDS.map((kind) => plant.kafka.groups.committedOffsets(plant.groupId, TOPIC_OF[kind])),
  );
  return { list: list ?? new Map(), reason: reason ?? new Map() };
}

/** The number of each machine's first uncommitted command of a kind, if there is one. */
export function firstUncommitted(
  inputs: readonly ReadRecord[],
  kind: CommandKind,
  offsets: CommittedOffsets,
): Sent {
  const first = new Map<string, number>();
  for (const record of inputs) {
    const { machineId, number, ...command } = readCommandId(header(record, 'message-id') ?? '');
    if (command.kind !== kind) continue;
    if (record.offset < (offsets[kind].get(record.partition) ?? 0)) continue;
    first.set(machineId, Math.min(number, first.get(machineId) ?? Infinity));
  }
  return first;
}
