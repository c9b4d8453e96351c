import { type MachineRegistryRecord, TOPICS } from '#libs/contracts';
import { type OutboundRecord } from '#libs/kafka';
import { namesOf, type TrackedMachine } from '../derivation/tracked-machine.js';

/**
 * What is to be told about the directory: a machine that is new or is called otherwise than before on
 * `machine.registry.v1`; of one that is gone, tombstones there and for its reasons.
 */
export function directoryRecords(
  before: TrackedMachine | undefined,
  after: TrackedMachine,
  topicPrefix: string,
): OutboundRecord[] {
  const { machineId } = after;
  const listed = before === undefined || before.observation === 'removed' ? null : namesOf(before);
  const names = after.observation === 'removed' ? null : namesOf(after);
  const record = (topic: string, value: MachineRegistryRecord | null): OutboundRecord => ({
    topic: `${topicPrefix}${topic}`,
    key: machineId,
    value: value === null ? null : JSON.stringify(value),
    headers: value === null ? {} : { 'content-type': 'application/json' },
  });
  if (names === null) {
    const topics = [TOPICS.registry, TOPICS.classificationReasons];
    return before?.observation === 'removed' ? [] : topics.map((topic) => record(topic, null));
  }
  const isTold = listed !== null && JSON.stringify(listed) === JSON.stringify(names);
  return isTold ? [] : [record(TOPICS.registry, names)];
}
