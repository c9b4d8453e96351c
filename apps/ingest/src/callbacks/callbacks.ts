import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { IngestSender, IngestSettings } from '#libs/config';
import type { KafkaClient } from '#libs/kafka';
import { SenderAccess } from '../access/sender-access.js';
import { INGEST_SETTINGS, KAFKA } from '../platform/tokens.js';
import { CallbackFlow } from './callback-flow.js';

/** The callback flows, one for each sender with a callback in the senders file. */
@Injectable()
export class Callbacks implements OnApplicationShutdown {
  private readonly bySender = new Map<string, CallbackFlow>();
  private closing: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(
    @Inject(INGEST_SETTINGS) private readonly settings: IngestSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly access: SenderAccess,
  ) {}

  get flows(): IterableIterator<CallbackFlow> {
    return this.bySender.values();
  }

  /** The senders whose outcomes cannot be posted now, each with the cause. */
  get deliveryProblems(): string[] {
    return [...this.flows].flatMap(({ sender, deliveryProblem }) =>
      deliveryProblem === undefined ? [] : [`${sender}: ${deliveryProblem}`],
    );
  }

  /** Begins to deliver in the background. */
  startFlows(): void {
    this.adjustFlows(this.settings.senders?.value ?? []);
    this.access.onSenders = (senders) => this.adjustFlows(senders);
  }

  async onApplicationShutdown(): Promise<void> {
    this.isClosed = true;
    await Promise.all([this.closing, ...[...this.flows].map((flow) => flow.stopDelivering())]);
  }

  private adjustFlows(senders: readonly IngestSender[]): void {
    if (this.isClosed) return;
    const removed = new Set(this.bySender.keys());
    for (const { name, callback } of senders) {
      if (callback === undefined) continue;
      removed.delete(name);
      const flow = this.bySender.get(name);
      if (flow === undefined) {
        // a flow that is still leaving the group would hinder its successor
        const started = new CallbackFlow(name, callback, this.settings, this.kafka);
        this.bySender.set(name, started);
        void this.closing.then(() => started.startDelivering());
      } else {
        flow.useCallback(callback);
      }
    }
    for (const name of removed) {
      const flow = this.bySender.get(name);
      this.bySender.delete(name);
      this.closing = Promise.all([this.closing, flow?.stopDelivering()]);
    }
  }
}
