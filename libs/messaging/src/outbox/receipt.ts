/**
 * Hears what became of a record, once. An object rather than a promise: there are tens of thousands a
 * second, and each promise would cost as much as the record.
 */
export interface Receipt {
  /** All in-sync replicas have it. */
  acknowledged(): void;
  /** It will never be sent: `RecordRefusedError`, or the outbox was closed before. */
  refused(error: unknown): void;
}
