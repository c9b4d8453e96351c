/**
 * Hears what became of a record, once. An object that is there anyway rather than a promise of its own:
 * there are tens of thousands a second.
 */
export interface Receipt {
  /** All in-sync replicas have it. */
  acknowledged(): void;
  /** It will never be sent: `RecordRefusedError`, or the outbox was closed before. */
  refused(error: unknown): void;
}
