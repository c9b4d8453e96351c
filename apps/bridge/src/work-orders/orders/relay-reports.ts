import { type OutboundRecord } from '#libs/messaging';
import { ownKey } from '../own-key.js';
import { type GatheredOrders } from './gathered-orders.js';

/**
 * Without the prefix: what became of relayed orders, on its way back to the partition that their message came
 * through. As wide as that topic, whereas `machine-bridge.relayed-orders.v1` stays as wide as it was made.
 */
export const RELAY_REPORTS = 'machine-bridge.relay-reports.v1';

/** Where to report what became of a part of a message. */
export interface ReportTo {
  /** The partition the message came through. */
  partition: number;
  /** Of this attempt to have the message taken in, by this process. */
  gathering: string;
  /** The first is 0. */
  part: number;
}

export interface RelayReport {
  of: ReportTo;
  said: GatheredOrders;
}

export function reportRecord(topicPrefix: string, report: RelayReport): OutboundRecord {
  const { partition, gathering, part } = report.of;
  return {
    topic: `${topicPrefix}${RELAY_REPORTS}`,
    partition,
    key: ownKey(`${gathering}/${part}`),
    value: JSON.stringify(report),
    headers: {},
  };
}

/** The bridge alone writes these; undefined for what is none of them. */
export function parseRelayReport(value: Buffer | null): RelayReport | undefined {
  try {
    const report = JSON.parse(value?.toString() ?? 'null') as Partial<RelayReport> | null;
    const isReport = typeof report?.of === 'object' && typeof report.said === 'object';
    return isReport ? (report as RelayReport) : undefined;
  } catch {
    return undefined;
  }
}
