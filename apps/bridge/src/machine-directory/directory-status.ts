/**
 * What the directory can say of a machine or reason. `unverifiable`: the service did not tell, or the
 * token may not ask; the service itself will decide when it is called.
 */
export type Verdict = 'known' | 'unknown' | 'unverifiable';

/** How the directory is doing, for readiness and operators. */
export interface DirectoryStatus {
  machines: number;
  /** Epoch seconds of the list in use; null before the first. */
  loadedAt: number | null;
  /** Why the latest look-up gave no list; null when it did. */
  problem: string | null;
}
