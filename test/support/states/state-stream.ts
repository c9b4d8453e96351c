import { type MachineStateRecord, TOPICS } from '#libs/contracts';
import { eventually } from '../eventually.js';
import { json, type ReadRecord, type TestKafka } from '../kafka.js';

const END = 'the end of what is read';

/** What the bridge has published of machine states, as a subscriber with read_committed finds it. */
export interface StateStream {
  /** Of each machine the events, in their order. */
  events: ReadonlyMap<string, readonly ReadRecord[]>;
  /** Of each machine the latest record of the compacted topic; tombstones are left out. */
  latest: ReadonlyMap<string, MachineStateRecord>;
}

/** Reads everything that has been published; nobody may publish any more. A transaction left open lets it fail. */
export async function readStateStream(kafka: TestKafka, partitions: number): Promise<StateStream> {
  const topics = [TOPICS.stateChanges, TOPICS.states];
  for (const topic of topics) {
    const ends = Array.from({ length: partitions }, (_, partition) => ({
      partition,
      key: END,
      value: '{}',
    }));
    await kafka.send(topic, ...ends);
  }
  const { records } = await kafka.read(...topics);
  const isEnd = ({ key }: ReadRecord): boolean => key?.toString() === END;
  await eventually(() => records.filter(isEnd).length === topics.length * partitions, {
    what: 'all that was published is read',
    timeoutMs: 30_000,
  });
  return toStream(records.filter((record) => !isEnd(record)));
}

function toStream(records: readonly ReadRecord[]): StateStream {
  const events = new Map<string, ReadRecord[]>();
  const latest = new Map<string, MachineStateRecord>();
  for (const record of records) {
    const machineId = record.key?.toString() ?? '';
    if (record.topic === TOPICS.states) {
      if (record.value === null) latest.delete(machineId);
      else latest.set(machineId, json(record) as unknown as MachineStateRecord);
      continue;
    }
    const ofMachine = events.get(machineId) ?? [];
    ofMachine.push(record);
    events.set(machineId, ofMachine);
  }
  return { events, latest };
}
