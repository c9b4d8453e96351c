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
} from '#libs/contracts';
import { type OrderDocument, OrderMapping, readOrders, sourceTopicOf } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { OrderPreview } from '#libs/order-preview';
import { INGEST_SETTINGS } from '../platform/tokens.js';
import type { Message } from './read-request.js';

/** Reads messages as the bridge will, with the same settings: what it could never read is refused here. */
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
    this.mapping.close();
  }

  /** The key of the message's record, or the reason why the bridge would refuse it whole. */
  async keyOf(message: Message): Promise<Parsed<string>> {
    const envelope = openEnvelope(message);
    if (!envelope.ok) return envelope;
    const { body } = envelope.value;
    switch (message.topic) {
      case TOPICS.workOrderLists: {
        const lists = parseWorkOrderLists(body);
        if (!lists.ok) return lists;
        const { assignments, faults } = lists.value;
        const [fault] = faults;
        if (assignments.length === 0 && fault !== undefined) {
          return { ok: false, rejection: fault.rejection };
        }
        return parsed(assignments[0]?.machineId ?? '');
      }
      case TOPICS.downtimeReasons: {
        const reason = parseDowntimeReason(body);
        return reason.ok ? parsed(reason.value.machineId) : reason;
      }
      case TOPICS.workOrders: {
        const document = documentOf(message, envelope.value);
        const orders = await readOrders(document, this.erp, this.mapping, this.clock.nowSeconds());
        return orders.ok ? parsed(orders.value[0]?.order.orderId ?? '') : orders;
      }
      default:
        return message.topic satisfies never;
    }
  }

  /** What the bridge would make of the message alone, as JSON. Machines and reasons are not looked up. */
  async preview(message: Message): Promise<Parsed<unknown>> {
    const envelope = openEnvelope(message);
    if (!envelope.ok) return envelope;
    const { body } = envelope.value;
    switch (message.topic) {
      case TOPICS.workOrderLists: {
        const lists = parseWorkOrderLists(body);
        if (!lists.ok) return lists;
        const { commandMaxSkewSeconds: skew } = this.erp;
        return parsed(refuseIssuedAhead(lists.value, this.clock.nowSeconds(), skew));
      }
      case TOPICS.downtimeReasons:
        return parseDowntimeReason(body);
      case TOPICS.workOrders: {
        const preview = new OrderPreview(this.erp, this.mapping, this.clock);
        const read = await preview.previewDocument(documentOf(message, envelope.value));
        if (!read.ok) return read;
        const lists = preview
          .lists()
          .map(([machineId, workingOrders]) => ({ machineId, workingOrders }));
        return parsed({ ...read.value, lists });
      }
      default:
        return message.topic satisfies never;
    }
  }
}

function documentOf(
  { headers }: Message,
  { contentType, body }: Pick<OrderDocument, 'contentType' | 'body'>,
): OrderDocument {
  const sourceTopic = sourceTopicOf({ headers, key: null });
  return { contentType, body, sourceTopic, recordedAt: Math.floor(realEpochMs() / 1000) };
}
