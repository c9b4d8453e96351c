import { type InboundMessage, PartitionOwnership } from '#libs/messaging';

/** A message of which nothing is known but where it lies, and what else is said. */
export function messageAt(offset: number, said: Partial<InboundMessage> = {}): InboundMessage {
  return {
    ...{ topic: 'a-topic', partition: 0, offset, timestamp: '0', bytes: 1 },
    ...{ key: null, value: null, headers: [], ownership: new PartitionOwnership() },
    finish: () => undefined,
    doneInPart: () => undefined,
    abandon: () => undefined,
    fail: () => undefined,
    ...said,
  };
}
