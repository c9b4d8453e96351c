import { realDelayMs } from '#libs/clock';

/** As much of kafkajs's part in a consumer group as decides what follows from a fetch that failed. */
interface RecoveringGroup {
  readonly cluster: { refreshMetadata(): Promise<void> };
  recoverFromFetch(error: { type?: unknown }): Promise<void>;
}

export type RecoveringGroupClass = new (options: never) => RecoveringGroup;

const LEADER_HAS_MOVED: readonly unknown[] = [
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
];
/** Brokers learn of a new leader one after the other; each fetch before the last has fails again. */
const REFRESH_PAUSE_MS = 100;

/**
 * Asks who leads a partition by now, and goes on fetching. kafkajs joins the group anew instead, for which all calls
 * of this process have to come to rest and all members to give up what they have: a leader that moves takes nothing
 * from anybody.
 */
export function withLeaderMoves<G extends RecoveringGroupClass>(GroupOfKafkajs: G): G {
  const Base: RecoveringGroupClass = GroupOfKafkajs;
  return class ConsumerGroup extends Base {
    override async recoverFromFetch(error: { type?: unknown }): Promise<void> {
      if (!LEADER_HAS_MOVED.includes(error.type)) {
        await super.recoverFromFetch(error);
        return;
      }
      await realDelayMs(REFRESH_PAUSE_MS);
      await this.cluster.refreshMetadata();
    }
  } as unknown as G;
}
