import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type KafkaClient, KeyedState } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { parseTrackedMachine } from './derivation/parse-tracked-machine.js';
import { type TrackedMachine } from './derivation/tracked-machine.js';
import { OwnedMachines } from './polling/owned-machines.js';
import { trackingTopic } from './tracking-topic.js';

/** What is remembered of machines, in Kafka; each partition owned is handed to {@link OwnedMachines}. */
@Injectable()
export class MachineTracking extends KeyedState<TrackedMachine> {
  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    machines: OwnedMachines,
  ) {
    super({
      kafka,
      name: trackingTopic(settings),
      transactionalIdPrefix: settings.kafka.groupId,
      parse: parseTrackedMachine,
      onOwned: (state) => {
        machines.own(state);
      },
    });
  }
}
