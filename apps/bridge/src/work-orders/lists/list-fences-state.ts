import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { type KafkaClient, KeyedState } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { LIST_FENCES, ListFences } from './list-fences.js';
import { ListPartitions } from './list-partitions.js';

/** {@link ListFences} in Kafka: epoch seconds by machine, in the partition its lists come through. */
@Injectable()
export class ListFencesState extends KeyedState<number> {
  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix, groupId } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    fences: ListFences,
    partitions: ListPartitions,
  ) {
    super({
      kafka,
      name: `${topicPrefix}${LIST_FENCES}`,
      inputs: [TOPICS.workOrderLists],
      transactionalIdPrefix: groupId,
      parse: (json) => (typeof json === 'number' ? json : undefined),
      onAssigned: () => {
        partitions.assignedAnew();
      },
      onOwned: (state) => {
        fences.own(state);
      },
    });
  }
}
