import { type Unavailable } from '../delivery/index.js';

/**
 * What the directory can say of a machine or reason. `unverifiable`: the token may not ask, or the
 * answer makes no sense; the service itself will decide when it is called. `unavailable`: the service
 * cannot be asked just now, which passes; with what the look-up met.
 */
export type DirectoryAnswer = 'known' | 'unknown' | LookUpFailure;

export type LookUpFailure = 'unverifiable' | Unavailable;

/** How the directory is doing, for readiness and operators. */
export interface DirectoryStatus {
  machines: number;
  /** Epoch seconds of the list in use; null before the first. */
  loadedAt: number | null;
  /** Why the latest look-up gave no list; null when it did. */
  problem: string | null;
}
