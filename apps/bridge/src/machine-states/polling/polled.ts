import { type FailedAnswer } from '../../machine-directory/index.js';

/** What the service has answered. */
export interface Poll {
  /** Why the machine was not answered for; null when it was, undefined when it was not asked for. */
  failure: FailedAnswer | null | undefined;
  /** Real milliseconds the service asked to be left alone for. */
  restMs: number;
  /** Publishes what the answer brought to light; the next poll begins after it. */
  conclude(): Promise<void>;
}

/** Something that is polled once an interval until it has ended. */
export interface Polled {
  readonly machineId: string;
  readonly hasEnded: boolean;
  /** When the service last updated it, in epoch seconds; null while that is not known. */
  readonly updatedAt: number | null;
  poll(): Promise<Poll>;
  /** Its turn has come, but the service is not asked: it answers nobody at the moment. */
  passOver(): Promise<void>;
}
