import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { type KafkaClient, KeyedState } from '#libs/messaging';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { TRANSACTION_PACE_MS } from '../partition-writer.js';
import { type KnownOrder } from './known-order.js';
import { OrderLedger } from './order-ledger.js';
import { LEDGER_BEGINS_ANEW } from './homes.js';
import { RELAY_REPORTS } from './relay-reports.js';
import { RELAYED_ORDERS } from './relayed-orders.js';
import { fromStoredOrder, toStoredOrder } from './stored-order.js';

/** The orders in Kafka, by order id, in the partition that is each one's home. */
@Injectable()
export class OrdersState extends KeyedState<KnownOrder> {
  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix, groupId } }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    ledger: OrderLedger,
  ) {
    super({
      kafka,
      name: `${topicPrefix}machine-bridge.orders.v1`,
      inputs: [TOPICS.workOrders, RELAYED_ORDERS, RELAY_REPORTS],
      placement: { topic: `${topicPrefix}${RELAYED_ORDERS}`, whenGrown: LEDGER_BEGINS_ANEW },
      transactionalIdPrefix: groupId,
      paceMs: TRANSACTION_PACE_MS,
      format: toStoredOrder,
      parse: fromStoredOrder,
      onOwned: (state) => {
        ledger.own(state);
      },
    });
  }
}
