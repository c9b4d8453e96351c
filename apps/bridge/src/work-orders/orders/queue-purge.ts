import { Logger } from '@nestjs/common';
import { everyRealMs } from '#libs/clock';
import {
  deleteCommitted,
  describeKafkaFailure,
  type KafkaClient,
  MayNotDeleteError,
} from '#libs/kafka';

const PURGE_EVERY_MS = 30_000;
/** Turns without a try where Kafka does not allow deletion, because the Kafka client logs an error each time. */
const TURNS_LEFT_OUT = 120;

/** Deletes the committed records of queues, which would grow without limit, and knows where Kafka allows that. */
export class QueuePurge {
  private readonly logger = new Logger('Queues');
  /** Queues whose records Kafka has let the bridge delete. */
  private readonly deletable = new Set<string>();
  /** Turns left without a try, by queue. */
  private readonly turnsLeftOut = new Map<string, number>();
  private isPurging = false;
  private stop: (() => void) | undefined;

  /** @param queues full names of topics whose only group is `groupId` */
  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
    private readonly queues: readonly string[],
  ) {}

  mayPurge(queue: string): boolean {
    return this.deletable.has(queue);
  }

  /** Begins the turns unless they have begun. */
  startPurging(): void {
    if (this.stop !== undefined) return;
    this.stop = everyRealMs(PURGE_EVERY_MS, () => void this.purgeQueues());
    void this.purgeQueues();
  }

  stopPurging(): void {
    this.stop?.();
  }

  /** Never rejects. */
  private async purgeQueues(): Promise<void> {
    if (this.isPurging) return;
    this.isPurging = true;
    for (const queue of this.queues) {
      const turns = this.turnsLeftOut.get(queue) ?? 0;
      this.turnsLeftOut.set(queue, turns - 1);
      if (turns > 0) continue;
      try {
        await deleteCommitted(this.kafka, this.groupId, queue);
        this.deletable.add(queue);
      } catch (error) {
        this.logNotPurged(queue, error);
      }
    }
    this.isPurging = false;
  }

  private logNotPurged(queue: string, error: unknown): void {
    if (!(error instanceof MayNotDeleteError)) {
      const why = describeKafkaFailure(error, { right: 'Delete', topics: [queue] });
      this.logger.warn({ msg: 'queue not shortened, will try again', queue, error: why });
      return;
    }
    this.deletable.delete(queue);
    this.turnsLeftOut.set(queue, TURNS_LEFT_OUT);
    this.logger.log({ msg: 'queue is shortened by tombstones', queue, why: error.why });
  }
}
