import type { PoisonMessage } from './poison/poison-message.js';
import { POISONED_ENVELOPES } from './poison/poisoned-envelopes.js';
import { POISONED_FOREIGN_ORDERS } from './poison/poisoned-foreign-orders.js';
import { POISONED_LISTS } from './poison/poisoned-lists.js';
import { POISONED_ORDERS } from './poison/poisoned-orders.js';
import { POISONED_REASONS } from './poison/poisoned-reasons.js';

/** Each fits a broker's default message size, becomes a dead letter byte for byte, and harms no process. */
export const POISON_CORPUS: readonly PoisonMessage[] = [
  ...POISONED_ENVELOPES,
  ...POISONED_LISTS,
  ...POISONED_REASONS,
  ...POISONED_ORDERS,
  ...POISONED_FOREIGN_ORDERS,
];
