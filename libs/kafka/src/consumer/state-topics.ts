import { type Batch } from '#libs/kafkajs-patches';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type AssignedPartitions } from './assigned-partitions.js';
import { type Assignment } from './supervised-consumer.js';
import { type GroupMember } from './supervised-consumer.js';

/** The input partitions, by full name, whose messages are judged by state. */
type StateInputs = Pick<AssignedPartitions, 'fenced' | 'release'>;

/** The topics of the bridge's own state among those that its consumer is given. */
export class StateTopics {
  constructor(
    private readonly topics: readonly KeyedStateTopic[],
    private readonly topicPrefix: string,
  ) {}

  get names(): string[] {
    return this.topics.map(({ name }) => name);
  }

  /** Why something can be neither read nor written for a while now, in words. */
  get problem(): string | undefined {
    return this.topics.map(({ problem }) => problem).find(Boolean);
  }

  attach(member: GroupMember, inputs: StateInputs): void {
    for (const state of this.topics) {
      const topics = state.inputs.map((input) => `${this.topicPrefix}${input}`);
      state.attach(member, {
        fenced: async (partition) => {
          await Promise.all(topics.map((topic) => inputs.fenced(topic, partition)));
        },
        restored: (partition) => {
          for (const topic of topics) inputs.release(topic, partition);
        },
      });
    }
  }

  /** Returns whether the batch was one of state. */
  accept({ topic, partition, messages }: Batch): boolean {
    const state = this.topics.find(({ name }) => name === topic);
    state?.accept(partition, messages);
    return state !== undefined;
  }

  /** Whether input is assigned whose state is not: a topic of state that is narrower than its input, or not known to all. */
  lackPartitions(assignment: Assignment): boolean {
    return this.topics.some((state) => {
      const own = new Set(assignment.get(state.name));
      const inputs = state.inputs.map(
        (input) => assignment.get(`${this.topicPrefix}${input}`) ?? [],
      );
      return inputs.flat().some((partition) => !own.has(partition));
    });
  }

  /** Returns what of the assignment is input. */
  reassign(assignment: Assignment): Assignment {
    for (const state of this.topics) state.reassign(assignment.get(state.name) ?? []);
    const names = new Set(this.names);
    return new Map([...assignment].filter(([topic]) => !names.has(topic)));
  }

  /** Whether the messages of an input partition are judged by state that is not restored. */
  areAwaited(topic: string, partition: number): boolean {
    const name = topic.slice(this.topicPrefix.length);
    return this.topics.some((state) => state.inputs.includes(name) && !state.isRestored(partition));
  }

  async close(): Promise<void> {
    await Promise.all(this.topics.map((topic) => topic.close()));
  }
}
