import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, realEpochMs } from '#libs/clock';
import type { ErpSettings, IngestSettings } from '#libs/config';
import {
  openEnvelope,
  parsed,
  type Parsed,
  parseDowntimeReason,
  parseWorkOrderLists,
  refuseIssuedAhead,
  TOPICS,
  type WorkOrderListMessage,
} from '#libs/contracts';
import { type OrderDocument, OrderMapping, readOrders, sourceTopicOf } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { OrderPreview } from '#libs/order-preview';
import { INGEST_SETTINGS } from '../platform/tokens.js';
import type { Message } from './read-request.js';

/** Reads messages with the bridge's settings: ingest refuses those that the bridge would refuse whole. */
@Injectable()
export class BridgeReader implements OnApplicationShutdown {
  private readonly erp: ErpSettings;
  private readonly mapping: OrderMapping;
  private readonly clock: Clock;

  constructor(@Inject(INGEST_SETTINGS) { erp, clock }: IngestSettings) {
    this.erp = erp;
    this.mapping = new OrderMapping(erp.mapping, new BoundedExpressions());
    this.clock = new Clock(clock);
  }

  onApplicationShutdown(): void {
    this.mapping.closeExpressions();
  }

  /** Reads a message as the bridge does; fails with the reason why the bridge would refuse it whole. */
  async readMessage(message: Message): Promise<Parsed<Reading>> {
    const envelope = openEnvelope(message);
    if (!envelope.ok) return envelope;
    const { contentType, body } = envelope.value;
    switch (message.topic) {
      case TOPICS.workOrderLists: {
        const lists = parseWorkOrderLists(body);
        return lists.ok ? this.readLists(lists.value) : lists;
      }
      case TOPICS.downtimeReasons: {
        const reason = parseDowntimeReason(body);
        if (!reason.ok) return reason;
        return parsed({ key: reason.value.machineId, preview: () => reason });
      }
      case TOPICS.workOrders: {
        const sourceTopic = sourceTopicOf({ headers: message.headers, key: null });
        const recordedAt = Math.floor(realEpochMs() / 1000);
        return this.readDocument(message, { contentType, body, sourceTopic, recordedAt });
      }
      default:
        return message.topic satisfies never;
    }
  }

  private readLists(message: WorkOrderListMessage): Parsed<Reading> {
    const { commandMaxSkewSeconds: skew } = this.erp;
    const lists = refuseIssuedAhead(message, this.clock.nowSeconds(), skew);
    const [first] = lists.assignments;
    const [fault] = lists.faults;
    if (first === undefined && fault !== undefined)
      return { ok: false, rejection: fault.rejection };
    return parsed({ key: first?.machineId ?? '', preview: () => parsed(lists) });
  }

  private async readDocument(message: Message, document: OrderDocument): Promise<Parsed<Reading>> {
    const thin = this.erp.enrichment.findThinEvent(message, document);
    if (thin !== undefined) {
      if (!thin.ok) return thin;
      // the ERP's answer is not known here
      return parsed({ key: thin.value.orderId, preview: () => parsed({ asksFor: thin.value }) });
    }
    const orders = await readOrders(document, this.erp, this.mapping, this.clock.nowSeconds());
    if (!orders.ok) return orders;
    const preview = () => this.previewOrders(document);
    return parsed({ key: orders.value[0]?.order.orderId ?? '', preview });
  }

  private async previewOrders(document: OrderDocument): Promise<Parsed<unknown>> {
    const preview = new OrderPreview(this.erp, this.mapping, this.clock);
    const read = await preview.previewDocument(document);
    if (!read.ok) return read;
    const lists = preview
      .lists()
      .map(([machineId, workingOrders]) => ({ machineId, workingOrders }));
    return parsed({ ...read.value, lists });
  }
}

interface Reading {
  /** Key of the record; empty for none. */
  key: string;
  /** The bridge's reading of the message alone, as JSON; machines and reasons are not looked up. */
  preview: () => Parsed<unknown> | Promise<Parsed<unknown>>;
}
