/** A message out of its wrapping. */
export interface Envelope {
  /** The sender's id for it: `ce_id`, else `message-id`; null when absent or no usable identifier. */
  messageId: string | null;
  /** As the sender wrote it. */
  contentType: string | null;
  body: Buffer;
}
