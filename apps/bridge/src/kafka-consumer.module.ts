import { Global, Inject, Injectable, Logger, Module, Optional } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { type BridgeTopic, bridgeTopics } from '#libs/contracts';
import { backOffMs, CallSlots } from '#libs/delivery';
import {
  deniedTopics,
  describeKafkaFailure,
  ensureTopics,
  type KafkaClient,
  KafkaConsumerStrategy,
  MissingTopicsError,
} from '#libs/kafka';
import { OutputFrames, SchemaRegistry } from '#libs/schema-registry';
import type { Tracing } from '#libs/tracing';
import { CommandOutcomes, DeliveryModule } from './delivery/index.js';
import { FlowControls, GroupShares } from './flow-control/index.js';
import { MachineStates } from './machine-states/index.js';
import { BRIDGE_SETTINGS, KAFKA, TRACING } from './platform/index.js';
import { WorkOrderTopics } from './work-orders/index.js';

const logger = new Logger('Consumer');
const BACK_OFF = { baseMs: 200, capMs: 5000 };

@Injectable()
class BridgeConsumer extends KafkaConsumerStrategy {
  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    outcomes: CommandOutcomes,
    calls: CallSlots,
    @Inject(TRACING) tracing: Tracing,
    controls: FlowControls,
    shares: GroupShares,
    @Optional() frames?: OutputFrames,
    @Optional() states?: MachineStates,
    @Optional() workOrders?: WorkOrderTopics,
    @Optional() registry?: SchemaRegistry,
  ) {
    const { groupId, topicPrefix, commitIntervalMs } = settings.kafka;
    const stateTopics = [...(states ? [states.topic] : []), ...(workOrders?.states ?? [])];
    const topics = bridgeTopics(settings);
    super({
      kafka,
      groupId,
      topicPrefix,
      giveUp: (message, areCallsAnswered) => outcomes.finishAfterBug(message, areCallsAnswered),
      stateTopics,
      calls,
      commitIntervalMs,
      tracing,
      widened: topics,
      decode: registry && ((message) => registry.readFramed(message, message.revoked)),
      // Topics, then schemas of outputs. After that all starts at once: the two readers, the consumer and, with its
      // assignment, producers and state. Calls wait until `controls` has been read (FlowHold), messages until earlier
      // progress and state are known.
      prepare: async (signal, report) => {
        await prepareTopics(kafka, settings, topics, signal, report);
        if (signal.aborted) return;
        report('the schemas of outputs are not registered yet, see schema-registry');
        await frames?.register(topicPrefix, new Set(topics.map(({ name }) => name)), signal);
        controls.followControls();
        shares.followShares();
      },
    });
  }
}

@Global()
@Module({
  imports: [DeliveryModule],
  providers: [{ provide: KafkaConsumerStrategy, useClass: BridgeConsumer }],
  exports: [KafkaConsumerStrategy],
})
export class KafkaConsumerModule {}

/** Retries until Kafka answers: a bridge that starts before its broker waits for it. */
async function prepareTopics(
  kafka: KafkaClient,
  settings: BridgeSettings,
  topics: readonly BridgeTopic[],
  signal: AbortSignal,
  report: (problem: string) => void,
): Promise<void> {
  const { createTopics: create, topicPartitions: partitions } = settings.kafka;
  const inputs = new Set(topics.flatMap(({ name, direction }) => (direction === 'in' ? name : [])));
  let wanted = topics;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await ensureTopics(kafka, wanted, { create, partitions });
      return;
    } catch (error) {
      if (error instanceof MissingTopicsError) throw error;
      const denied = deniedTopics(error);
      // the consumer itself waits for a denied input, see `SupervisedConsumer`, and reads the others
      if (denied.every((name) => inputs.has(name)))
        wanted = wanted.filter(({ name }) => !denied.includes(name));
      const why = `the topics cannot be prepared: ${describeKafkaFailure(error)}`;
      logger.warn({ msg: 'not started yet, will try again', why, attempt });
      report(why);
      await realDelayMs(backOffMs(attempt, BACK_OFF), signal);
    }
  }
}
