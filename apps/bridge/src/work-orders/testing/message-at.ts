import type { InboundMessage } from '#libs/kafka';
import { inboundMessage, type KeptMessage } from '../../delivery/testing/inbound-message.js';

/** A message of which nothing is known but where it lies, and what else is said. */
export function messageAt(offset: number, said: Partial<InboundMessage> = {}): KeptMessage {
  return inboundMessage({ ...said, offset });
}
