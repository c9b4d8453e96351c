import { type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { type AnsweredMessage } from '../../command-delivery/index.js';
import { type Entry } from '../waiting-entries.js';
import { type ToldOrders } from './derive-orders.js';
import { type GatheredOrders } from './gathered-orders.js';
import { type RelayReport, type ReportTo } from './relay-reports.js';

/** A message of orders that are all at home in the partition it came through. */
export interface OrdersEntry extends Entry, ToldOrders {
  kind: 'orders';
  answered: AnsweredMessage;
  source: OutcomeSource;
}

/**
 * A message with orders of other partitions, and what takes them there. It is open until all have reported. Those
 * that are at home here are taken in at once: the message behind it may tell of them again.
 */
export interface RelayEntry extends Entry, ToldOrders {
  kind: 'relay';
  answered: AnsweredMessage;
  source: OutcomeSource;
  gathering: string;
  /** One for each other partition: parts 1 and on of the message, whose part 0 are the orders at home. */
  records: readonly OutboundRecord[];
}

/** Orders that have come home; the message of this entry is the record that took them here. */
export interface PartEntry extends Entry, ToldOrders {
  kind: 'part';
  source: OutcomeSource;
  reportTo: ReportTo;
}

/** What became of a part of a message that came through this partition. */
interface ReportEntry extends Entry {
  kind: 'report';
  report: RelayReport;
}

/** A message all of whose parts have been reported. */
export interface GatheredEntry extends Entry {
  kind: 'gathered';
  answered: AnsweredMessage;
  source: OutcomeSource;
  said: GatheredOrders;
}

/** What waits to be written to the orders of a partition. */
export type OrderEntry = OrdersEntry | RelayEntry | PartEntry | ReportEntry | GatheredEntry;
