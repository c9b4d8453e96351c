import { Logger } from '@nestjs/common';
import { everyRealMs, onAbort } from '#libs/clock';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { FetchControl, KafkaMessage } from '../client/kafka-port.js';
import { CommittedOffsets } from '../producer/committed-offsets.js';
import { partitionCount } from '../reading/topics.js';
import {
  type InputState,
  type KeyedStateOptions,
  KeyedStatePartition,
  type TransactedState,
} from './keyed-state-partition.js';

/** A broker may not know partitions added a moment ago. */
const GROWTH_CHECK_MS = 30_000;

/** The input partitions, by full topic name, whose messages wait for state. */
interface StateInputs {
  /** Resolves once no earlier owner of the partition can write to the state. */
  untilFenced(topic: string, partition: number): Promise<void>;
  stateRestored(topic: string, partition: number): void;
}

/** State in a compacted topic, whose partitions the group assigns. */
export class KeyedState<V, H = void> {
  readonly name: string;
  private readonly inputs: readonly string[];
  /** Holder of each partition from its restore to its revocation; without one, messages wait. */
  readonly holders = new Map<number, H>();
  /** By partition: stops watching for its loss, once another holder has replaced its holder. */
  private readonly stopsOfWatches = new Map<number, () => void>();
  private readonly partitions = new Map<number, KeyedStatePartition<V>>();
  private readonly committed: CommittedOffsets;
  private readonly logger = new Logger('KeyedState');
  private stopWatching: (() => void) | undefined;
  private member: FetchControl | undefined;
  private stateInputs: StateInputs | undefined;

  constructor(private readonly options: KeyedStateOptions<V, H>) {
    this.name = options.name;
    this.inputs = options.inputs ?? [];
    this.committed = new CommittedOffsets(options.kafka, options.groupId);
  }

  /** Assigned partitions, restored or not. */
  get owned(): number[] {
    return [...this.partitions.keys()];
  }

  /** Why a partition cannot be restored or written, for `/health/ready`; undefined while all can. */
  get stateProblem(): string | undefined {
    return [...this.partitions.values()].map(({ stateProblem }) => stateProblem).find(Boolean);
  }

  attachConsumer(member: FetchControl, inputs: StateInputs): void {
    this.member = member;
    this.stateInputs = inputs;
  }

  /** Whether messages of an input partition wait for this state to be restored. */
  isAwaited(topic: string, partition: number): boolean {
    return this.inputs.includes(topic) && this.partitions.get(partition)?.isRestored !== true;
  }

  acceptFetched(partition: number, messages: readonly KafkaMessage[]): void {
    this.partitions.get(partition)?.acceptFetched(messages);
  }

  assignPartitions(partitions: readonly number[]): void {
    for (const [number, state] of this.partitions) {
      if (partitions.includes(number)) continue;
      this.partitions.delete(number);
      void state.closePartition().then(() => {
        // kafkajs keeps a pause across assignments; that of a newer assignment must stay.
        if (!this.partitions.has(number)) this.member?.resume(this.name, number);
      });
    }
    for (const number of partitions) {
      if (this.partitions.has(number) || this.member === undefined) continue;
      const fenced = async (): Promise<void> => {
        const { inputs, stateInputs } = this;
        await Promise.all(inputs.map(async (topic) => stateInputs?.untilFenced(topic, number)));
      };
      const options = { ...this.options, onOwned: this.own.bind(this) };
      const state = new KeyedStatePartition(number, options, this.member, fenced, this.committed);
      this.partitions.set(number, state);
      state.startRestoring();
    }
    this.watchGrowth();
  }

  /** Watches for added partitions: the group assigns them, but owners of the others do not notice. */
  private watchGrowth(): void {
    const { placement } = this.options;
    if (placement === undefined) return;
    const look = (): void => void this.lookForGrowth(placement.topic);
    look();
    this.stopWatching ??= everyRealMs(GROWTH_CHECK_MS, look);
  }

  private async lookForGrowth(topic: string): Promise<void> {
    if (this.partitions.size === 0) return;
    try {
      const count = await partitionCount(this.options.kafka, topic);
      for (const state of this.partitions.values()) state.partitionsAdded(count);
    } catch (error) {
      this.logger.warn({ msg: 'partitions not known', topic, error: describeKafkaFailure(error) });
    }
  }

  own(state: InputState<V> & TransactedState<V>): void {
    const { partition, lost } = state;
    const holder = this.options.onOwned(state);
    this.holders.set(partition, holder);
    const release = (): void => {
      if (this.holders.get(partition) !== holder) return;
      this.holders.delete(partition);
      this.stopsOfWatches.delete(partition);
    };
    this.stopsOfWatches.get(partition)?.();
    this.stopsOfWatches.set(partition, onAbort(lost, release));
    for (const topic of this.inputs) this.stateInputs?.stateRestored(topic, partition);
  }

  async closeState(): Promise<void> {
    this.stopWatching?.();
    const states = [...this.partitions.values()];
    this.partitions.clear();
    await Promise.all(states.map((state) => state.closePartition()));
  }
}

export type KeyedStateTopic = Omit<KeyedState<unknown>, 'holders' | 'own'>;
