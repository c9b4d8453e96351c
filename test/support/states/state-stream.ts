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

/** A made-up machine whose event is the last record of each partition. */
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

/** The machine states that the bridge has published, as a subscriber with read_committed reads them. */
export interface StateStream {
  /** The events of each machine, in order. */
  events: ReadonlyMap<string, readonly ReadRecord[]>;
  /** The records of the compacted topic that still exist, by machine, in order; null is a tombstone. */
  states: ReadonlyMap<string, readonly (MachineStateRecord | null)[]>;
}

/** Reads everything that was published; all publishing must have ended. Fails if a transaction is open. */
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
