import { type RejectionCode, TOPICS } from '#libs/contracts';

export const POISONED_TOPICS = {
  lists: TOPICS.workOrderLists,
  reasons: TOPICS.downtimeReasons,
  orders: TOPICS.workOrders,
};

/** A message that a correct bridge never applies, and the code of its dead letter. */
export interface PoisonMessage {
  name: string;
  topic: keyof typeof POISONED_TOPICS;
  key: string | null;
  value: Buffer | null;
  headers?: Record<string, string>;
  expectedCode: RejectionCode;
}

type Poison = (
  name: string,
  expectedCode: RejectionCode,
  value: Buffer | string | null,
  headers?: Record<string, string>,
) => PoisonMessage;

/** Makes messages for a topic, with a machine as key; text is encoded as UTF-8. */
export function poisonOn(topic: PoisonMessage['topic']): Poison {
  return (name, expectedCode, value, headers) => ({
    name: `${topic}: ${name}`,
    topic,
    key: 'M-001',
    value: typeof value === 'string' ? Buffer.from(value, 'utf8') : value,
    expectedCode,
    ...(headers !== undefined && { headers }),
  });
}
