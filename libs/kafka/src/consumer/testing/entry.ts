import type { OutboundRecord, RecordRefusedError } from '../../producer/outbound-record.js';
import { TransactionEntry } from '../pending-entries.js';

interface Fields {
  offsets: readonly number[];
  records: readonly OutboundRecord[];
  /** Without it, it finishes its messages. */
  item?: number | undefined;
}

/** An entry, and what is done once it has ended. */
export class TestEntry extends TransactionEntry {
  constructor(
    { offsets, records, item }: Fields,
    private readonly ended: (how: 'committed' | 'dropped' | RecordRefusedError) => void = () =>
      undefined,
  ) {
    super(offsets, records, item === undefined, item);
  }

  override entryCommitted(): void {
    this.ended('committed');
  }

  override entryDropped(): void {
    this.ended('dropped');
  }

  override entryRefused(error: RecordRefusedError): void {
    this.ended(error);
  }
}
