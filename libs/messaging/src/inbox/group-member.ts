import { Logger } from '@nestjs/common';
import { type Consumer } from '../kafkajs.js';

/** The consumer while it is a member of the group: before and after, kafkajs refuses to pause and seek. */
export class GroupMember {
  private readonly logger = new Logger('Consumer');
  private consumer: Consumer | undefined;

  is(consumer: Consumer): boolean {
    return this.consumer === consumer;
  }

  /** Partitions have been assigned to the consumer, at first or anew. */
  join(consumer: Consumer): void {
    this.consumer = consumer;
  }

  leave(): void {
    this.consumer = undefined;
  }

  pause(topic: string, partition: number): void {
    this.ask((consumer) => {
      consumer.pause([{ topic, partitions: [partition] }]);
    });
  }

  resume(topic: string, partition: number): void {
    this.ask((consumer) => {
      consumer.resume([{ topic, partitions: [partition] }]);
    });
  }

  seek(topic: string, partition: number, offset: number): void {
    this.ask((consumer) => {
      consumer.seek({ topic, partition, offset: String(offset) });
    });
  }

  /** A consumer that is ending refuses, and whatever was asked of it ends with it. */
  private ask(of: (consumer: Consumer) => void): void {
    try {
      if (this.consumer !== undefined) of(this.consumer);
    } catch (error) {
      this.logger.debug({ msg: 'refused by a consumer that is ending', error: String(error) });
    }
  }
}
