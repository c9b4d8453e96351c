import { Inject, Injectable } from '@nestjs/common';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS } from '#libs/contracts';
import { type KafkaClient, KeyedState } from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { parseTrackedMachine } from './derivation/parse-tracked-machine.js';
import type { TrackedMachine } from './derivation/tracked-machine.js';
import { OwnedMachines } from './polling/owned-machines.js';

/** What is remembered of machines, in Kafka; each partition owned is handed to {@link OwnedMachines}. */
@Injectable()
export class MachineTracking extends KeyedState<TrackedMachine> {
  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix, groupId } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    machines: OwnedMachines,
  ) {
    const name = `${topicPrefix}${INTERNAL_TOPICS.machineStates}`;
    super({
      kafka,
      name,
      placement: { topic: name },
      transactionalIdPrefix: groupId,
      parse: parseTrackedMachine,
      onOwned: (state) => {
        machines.own(state);
      },
    });
  }
}
