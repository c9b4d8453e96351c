import { DoneItems, FinishedAhead } from '#libs/delivery';

/** The metadata of a committed offset, for the next owner of the partition. */
export interface OffsetMetadata {
  /** What is finished ahead of the offset. */
  finished: FinishedAhead | undefined;
  /** Items that are done of unfinished messages. */
  items: DoneItems;
  /** The transaction that has committed it; undefined where it was none of the bridge's. */
  transaction: string | undefined;
}

const NONE = '-';
const FORM = /^tx\/1 (\S{1,64}) (\S+)(?: (.+))?$/;
/** Before offsets were committed in transactions. */
const EARLIER_FORM = /^told\/1 \S+ (.+)$/;

/**
 * @param ahead the metadata of {@link FinishedAhead.compose}; may be empty
 * @param items of {@link DoneItems.compose}; may be empty
 */
export function formatOffsetMetadata(transaction: string, items: string, ahead: string): string {
  return `tx/1 ${transaction} ${items || NONE}${ahead && ` ${ahead}`}`;
}

export function parseOffsetMetadata(committed: number, metadata: string | null): OffsetMetadata {
  const [, transaction, items = '', ahead] = FORM.exec(metadata ?? '') ?? [];
  const [, aheadBefore] = EARLIER_FORM.exec(metadata ?? '') ?? [];
  return {
    finished: FinishedAhead.read(committed, ahead ?? aheadBefore ?? null),
    items: DoneItems.read(items),
    transaction,
  };
}
