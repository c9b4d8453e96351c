import {
  cloudEventHeaders,
  factorySource,
  type MachineStateRecord,
  SEQUENCE_EXTENSION,
  STATE_EVENT_TYPES,
  type StateChanged,
  stateChangeId,
  TOPICS,
} from '#libs/contracts';
import { eventually } from '../eventually.js';
import type { TestKafka } from '../kafka.js';
import { json, type ReadRecord } from '../topic-reader.js';

/** A machine that is none: its event, as good as any other, is the last in each partition. */
const END = 'the end of what is read';
const END_EVENT: StateChanged = {
  machineId: END,
  factoryId: 'F-1',
  state: 'OFF',
  previousState: null,
  startTime: 1,
  previousStartTime: null,
  detectedAt: 1,
  revision: 0,
  startTimeSource: 'duration',
};
const END_RECORDS = {
  [TOPICS.stateChanges]: {
    value: JSON.stringify(END_EVENT),
    headers: cloudEventHeaders({
      id: stateChangeId(END, 1, 'OFF', 0),
      source: factorySource('F-1'),
      type: STATE_EVENT_TYPES.changed,
      time: 1,
      subject: END,
      extensions: { [SEQUENCE_EXTENSION]: '1' },
    }),
  },
  [TOPICS.states]: { value: null },
};

/** What the bridge has published of machine states, as a subscriber with read_committed finds it. */
export interface StateStream {
  /** Of each machine the events, in their order. */
  events: ReadonlyMap<string, readonly ReadRecord[]>;
  /** Of each machine the records of the compacted topic as far as they are there, in their order; null is a tombstone. */
  states: ReadonlyMap<string, readonly (MachineStateRecord | null)[]>;
}

/** Reads everything that has been published; nobody may publish any more. A transaction left open lets it fail. */
export async function readStateStream(kafka: TestKafka, partitions: number): Promise<StateStream> {
  const everyPartition = Array.from({ length: partitions }, (_, partition) => partition);
  for (const [topic, end] of Object.entries(END_RECORDS)) {
    await kafka.send(
      topic,
      ...everyPartition.map((partition) => ({ ...end, partition, key: END })),
    );
  }
  const reader = await kafka.read(...Object.keys(END_RECORDS));
  const isEnd = ({ key }: ReadRecord): boolean => key?.toString() === END;
  await eventually(
    'all that was published is read',
    () => reader.records.filter(isEnd).length === 2 * partitions,
  );
  return toStream(reader.records.filter((record) => !isEnd(record)));
}

export function toStream(records: readonly ReadRecord[]): StateStream {
  const events = new Map<string, ReadRecord[]>();
  const states = new Map<string, (MachineStateRecord | null)[]>();
  const add = <T>(to: Map<string, T[]>, machineId: string, value: T): void => {
    const ofMachine = to.get(machineId);
    if (ofMachine === undefined) to.set(machineId, [value]);
    else ofMachine.push(value);
  };
  for (const record of records) {
    const machineId = record.key?.toString() ?? '';
    if (record.topic === TOPICS.stateChanges) add(events, machineId, record);
    else add(states, machineId, json(record) as unknown as MachineStateRecord | null);
  }
  return { events, states };
}
