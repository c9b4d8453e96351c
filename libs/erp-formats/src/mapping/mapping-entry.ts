import { TOPICS } from '#libs/contracts';

import type { OrderDocument } from '../document/order-format.js';

/** An expression and the documents it is for; what a criterion leaves out does not matter. */
export interface MappingEntry {
  /** As a rejection names it. */
  name: string;
  /** Lower case, without parameters. */
  contentType?: string;
  /** The source topic, else the one that all documents come by, without the prefix; a `*` stands for any text. */
  topic?: string;
  expression: string;
}

/** The topic of a document, as {@link MappingEntry.topic} is compared with and an expression sees it. */
export function topicOf({ sourceTopic }: OrderDocument): string {
  return sourceTopic ?? TOPICS.workOrders;
}
