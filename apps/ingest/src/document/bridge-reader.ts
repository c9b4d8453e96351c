import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, realEpochMs } from '#libs/clock';
import type { ErpSettings, IngestSettings } from '#libs/config';
import {
  type DowntimeReason,
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
    const contents = contentsOf(message);
    if (!contents.ok) return contents;
    const { value } = contents;
    switch (value.kind) {
      case 'lists': {
        const { assignments, faults } = value.lists;
        const [fault] = faults;
        if (assignments.length === 0 && fault !== undefined) {
          return { ok: false, rejection: fault.rejection };
        }
        return parsed(assignments[0]?.machineId ?? '');
      }
      case 'reason':
        return parsed(value.reason.machineId);
      case 'document': {
        const thin = this.erp.enrichment.find(message, value.document);
        if (thin !== undefined) return thin.ok ? parsed(thin.value.orderId) : thin;
        const nowSeconds = this.clock.nowSeconds();
        const orders = await readOrders(value.document, this.erp, this.mapping, nowSeconds);
        return orders.ok ? parsed(orders.value[0]?.order.orderId ?? '') : orders;
      }
      default:
        return value satisfies never;
    }
  }

  /** What the bridge would make of the message alone, as JSON. Machines and reasons are not looked up. */
  async preview(message: Message): Promise<Parsed<unknown>> {
    const contents = contentsOf(message);
    if (!contents.ok) return contents;
    const { value } = contents;
    switch (value.kind) {
      case 'lists': {
        const { commandMaxSkewSeconds: skew } = this.erp;
        return parsed(refuseIssuedAhead(value.lists, this.clock.nowSeconds(), skew));
      }
      case 'reason':
        return parsed(value.reason);
      case 'document': {
        const thin = this.erp.enrichment.find(message, value.document);
        // what the ERP will answer is not known here
        if (thin !== undefined) return thin.ok ? parsed({ asksFor: thin.value }) : thin;
        const preview = new OrderPreview(this.erp, this.mapping, this.clock);
        const read = await preview.previewDocument(value.document);
        if (!read.ok) return read;
        const lists = preview
          .lists()
          .map(([machineId, workingOrders]) => ({ machineId, workingOrders }));
        return parsed({ ...read.value, lists });
      }
      default:
        return value satisfies never;
    }
  }
}

type Contents =
  | { kind: 'lists'; lists: WorkOrderListMessage }
  | { kind: 'reason'; reason: DowntimeReason }
  /** Not read yet: its format takes settings. */
  | { kind: 'document'; document: OrderDocument };

function contentsOf(message: Message): Parsed<Contents> {
  const envelope = openEnvelope(message);
  if (!envelope.ok) return envelope;
  const { body } = envelope.value;
  switch (message.topic) {
    case TOPICS.workOrderLists: {
      const lists = parseWorkOrderLists(body);
      return lists.ok ? parsed({ kind: 'lists', lists: lists.value }) : lists;
    }
    case TOPICS.downtimeReasons: {
      const reason = parseDowntimeReason(body);
      return reason.ok ? parsed({ kind: 'reason', reason: reason.value }) : reason;
    }
    case TOPICS.workOrders:
      return parsed({ kind: 'document', document: documentOf(message, envelope.value) });
    default:
      return message.topic satisfies never;
  }
}

function documentOf(
  { headers }: Message,
  { contentType, body }: Pick<OrderDocument, 'contentType' | 'body'>,
): OrderDocument {
  const sourceTopic = sourceTopicOf({ headers, key: null });
  return { contentType, body, sourceTopic, recordedAt: Math.floor(realEpochMs() / 1000) };
}
