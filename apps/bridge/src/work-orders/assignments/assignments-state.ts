import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type KafkaClient, KeyedState } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { TRANSACTION_PACE_MS } from '../partition-writer.js';
import { LEDGER_BEGINS_ANEW } from '../orders/homes.js';
import { ASSIGNMENT_CHANGES } from './assignment-change.js';
import { Assignments } from './assignments.js';
import { type StoredAssignment } from './derive-assignments.js';
import { fromStored, toStored } from './stored-assignment.js';

/** The assignments in Kafka, by machine and order, in the partition their changes come through. */
@Injectable()
export class AssignmentsState extends KeyedState<StoredAssignment> {
  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix, groupId } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    assignments: Assignments,
  ) {
    super({
      kafka,
      name: `${topicPrefix}machine-bridge.assignments.v1`,
      inputs: [ASSIGNMENT_CHANGES],
      placement: { topic: `${topicPrefix}${ASSIGNMENT_CHANGES}`, whenGrown: LEDGER_BEGINS_ANEW },
      transactionalIdPrefix: groupId,
      paceMs: TRANSACTION_PACE_MS,
      format: toStored,
      parse: fromStored,
      onOwned: (state) => {
        assignments.own(state);
      },
    });
  }
}
