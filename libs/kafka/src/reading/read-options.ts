import { type StoredRecord } from './stored-record.js';

export interface ReadOptions {
  /** What the names of the read's consumer group begin with. */
  groupIdPrefix: string;
  /** Ends the read early and without an error; a call of onRecords under way is waited for. */
  signal: AbortSignal;
  /** Takes records of one partition, in order, at most 100. What it throws ends the read. */
  onRecords: (records: readonly StoredRecord[]) => Promise<void> | void;
}
