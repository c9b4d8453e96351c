import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type OrderMessage, type OutcomeSource, type Rejection } from '#libs/contracts';
import { type InboundMessage, type PartitionOwnership } from '#libs/messaging';
import { Equipment } from '../../equipment/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { type MessagePosition } from './message-position.js';
import { type OrderEntry } from './order-entries.js';
import { OrderHomes } from './order-homes.js';
import { OrderLedger } from './order-ledger.js';
import { type ReadMessage, relayEntryOf } from './relay-entry.js';
import { type RelayedOrders, type RelayReport } from './relayed-orders.js';
import { UnknownMachines } from './unknown-machines.js';

/** What has come from another partition: orders, or what became of some. */
export interface ReadRelay {
  message: InboundMessage;
  content: RelayedOrders | RelayReport;
}

/** Brings orders into the ledger: into the partition that is their home, whichever their message came through. */
@Injectable()
export class OrderIntake {
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka }: BridgeSettings,
    private readonly equipment: Equipment,
    private readonly homes: OrderHomes,
    private readonly ledger: OrderLedger,
    private readonly unknownMachines: UnknownMachines,
  ) {
    this.topicPrefix = kafka.topicPrefix;
  }

  /** Takes messages of one partition, in the order of their offsets. Resolves once the ledger has them. */
  async take(messages: readonly ReadMessage[]): Promise<void> {
    const [first] = messages;
    if (first === undefined) return;
    const { partition, ownership } = first.answered.message;
    const homeOf = await this.homes.known(ownership.signal);
    const relays = messages.map((message) => relayEntryOf(message, homeOf, this.topicPrefix));
    const atHome = messages.filter((_message, index) => relays[index] === undefined);
    const unknownMachines = await this.unknownAmong(atHome, ownership);
    const entries = messages.map(({ answered, source, recordedAt, orders }, index): OrderEntry => {
      const { message } = answered;
      const position = positionOf(source, recordedAt);
      const told = { position, orders, unknownMachines };
      return relays[index] ?? { kind: 'orders', message, answered, source, ...told };
    });
    this.ledger.take(partition, entries);
  }

  /** As {@link take}, of what has come from other partitions. */
  async takeRelayed(relays: readonly ReadRelay[]): Promise<void> {
    const [first] = relays;
    if (first === undefined) return;
    const { partition, ownership } = first.message;
    const arrived = relays.flatMap(({ content }) => (content.kind === 'orders' ? [content] : []));
    const unknownMachines = await this.unknownAmong(arrived, ownership);
    const entries = relays.map(({ message, content }): OrderEntry => {
      if (content.kind === 'report') return { kind: 'report', message, report: content };
      const { orders, source, recordedAt, reportTo } = content;
      const position = positionOf(source, recordedAt);
      const told = { position, orders, unknownMachines };
      return { kind: 'part', message, source, reportTo, ...told };
    });
    this.ledger.take(partition, entries);
  }

  private unknownAmong(
    told: readonly { orders: readonly OrderMessage[] }[],
    ownership: PartitionOwnership,
  ): Promise<ReadonlyMap<string, Rejection>> {
    const machineIds = new Set<string>();
    for (const { orders } of told) {
      for (const { order } of orders) {
        for (const operation of order.operations ?? []) {
          const machineId = this.equipment.machineOf(operation);
          if (machineId !== undefined) machineIds.add(machineId);
        }
      }
    }
    return this.unknownMachines.among(machineIds, ownership);
  }
}

function positionOf({ partition, offset }: OutcomeSource, recordedAt: number): MessagePosition {
  return { partition, offset, recordedAt };
}
