import { type OutboundRecord } from '../../producer/outbound-record.js';
import { type RecordRefusedError } from '../../producer/record-refused.js';
import { Entry } from '../waiting-writes.js';

interface Fields {
  offsets: readonly number[];
  records: readonly OutboundRecord[];
  /** Without it, it finishes its messages. */
  item?: number | undefined;
}

/** An entry, and what is done once it has ended. */
export class TestEntry extends Entry {
  constructor(
    { offsets, records, item }: Fields,
    private readonly ended: (how: 'committed' | 'dropped' | RecordRefusedError) => void = () =>
      undefined,
  ) {
    super(offsets, records, item === undefined, item);
  }

  override committed(): void {
    this.ended('committed');
  }

  override dropped(): void {
    this.ended('dropped');
  }

  override refused(error: RecordRefusedError): void {
    this.ended(error);
  }
}
