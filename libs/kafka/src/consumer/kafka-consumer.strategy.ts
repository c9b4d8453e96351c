import { Logger } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { type InboundMessage } from './inbound-message.js';
import { KafkaConsumer, type KafkaConsumerOptions } from './kafka-consumer.js';

/**
 * Nest's way into Kafka: controllers name topics with `@EventPattern`, without the prefix, and are handed their
 * messages by the dozen.
 */
export class KafkaConsumerStrategy extends Server implements CustomTransportStrategy {
  protected override readonly logger = new Logger('Inbox');
  readonly consumer: KafkaConsumer;

  constructor(options: KafkaConsumerOptions) {
    super();
    this.consumer = new KafkaConsumer(options, (messages) => this.dispatch(messages));
  }

  /** Calls back once the consumer is under supervision; joining the group goes on behind it. */
  listen(callback: (error?: unknown) => void): void {
    void this.consumer.start([...this.messageHandlers.keys()]).then(() => {
      callback();
    }, callback);
  }

  close(): Promise<void> {
    return this.consumer.close();
  }

  override on(): never {
    throw new Error('KafkaConsumerStrategy has no events: ask its consumer for its state');
  }

  override unwrap(): never {
    throw new Error('KafkaConsumerStrategy does not lend its consumer');
  }

  private async dispatch(messages: readonly InboundMessage[]): Promise<void> {
    const [first] = messages;
    const handler = this.messageHandlers.get(first?.topic ?? '');
    if (handler === undefined) throw new Error(`no controller handles ${first?.topic}`);
    const result = this.transformToObservable(await handler(messages));
    await lastValueFrom(result, { defaultValue: undefined });
  }
}
