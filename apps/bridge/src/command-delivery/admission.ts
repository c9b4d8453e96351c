import { type Rejection } from '#libs/contracts';

/** Whether a command may be sent to the service as it is now. */
export type Admission =
  | { kind: 'go' }
  | { kind: 'rejected'; rejection: Rejection }
  | { kind: 'superseded'; detail: string }
  /** The service has taken exactly this before, at `appliedAt`, and nothing else since. */
  | { kind: 'applied'; appliedAt: number; workingOrders: readonly string[] }
  /** Its time has not come; `waitMs` is real time. */
  | { kind: 'not-yet'; waitMs: number }
  /**
   * What it is judged by cannot be asked for just now, which passes: `why` in the words of the look-up's answer, and for
   * how long the service asks to be left alone (`afterMs`, real time; null where it does not).
   */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

export type Unavailable = Extract<Admission, { kind: 'unavailable' }>;

export const GO: Admission = { kind: 'go' };
