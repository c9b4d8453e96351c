import { realDelayMs, whenAllAbort } from '#libs/clock';
import { type OutcomeSource } from '#libs/contracts';
import { type PartitionOwnership } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type RejectedResult } from './command-result.js';

/** Long beside what lies between the refusals of calls that one refused call was split into. */
const GATHER_MS = 300;

/** What a dead letter is written by, from the first fault until it is sent. */
export interface LetterPermit {
  /** Aborts when nobody waits for it any more. */
  readonly signal: AbortSignal;
  /** See {@link Telling.stillAllowed}. */
  stillAllowed(): Promise<void>;
}

/** Sets the message aside; resolves once Kafka has acknowledged that, rejects when nobody may do so any more. */
type SetAside = (
  answered: AnsweredMessage,
  faults: readonly RejectedResult[],
  permit: LetterPermit,
) => Promise<void>;

interface Gathering {
  faults: RejectedResult[];
  /** Of the messages of our own that wait for it: their partitions may be lost one by one. */
  owners: Set<PartitionOwnership>;
  setAside: Promise<void>;
}

/**
 * Faults of one message that are found at several machines, each on its own: what an order leads to. As far
 * as they come about together, and in this process, one dead letter tells of all of them.
 */
export class GatheredFaults {
  private readonly gathering = new Map<string, Gathering>();

  constructor(private readonly setAside: SetAside) {}

  /** Resolves once the message is set aside for these; goes on for as long as one of those who wait has its partition. */
  add(
    { topic, partition, offset }: OutcomeSource,
    answered: AnsweredMessage,
    faults: readonly RejectedResult[],
  ): Promise<void> {
    const key = `${topic}/${partition}/${offset}`;
    const known = this.gathering.get(key);
    const { ownership } = answered.message;
    if (known !== undefined) {
      known.faults.push(...faults);
      known.owners.add(ownership);
      return known.setAside;
    }
    const gathered = [...faults];
    const owners = new Set([ownership]);
    const setAside = realDelayMs(GATHER_MS).then(() => {
      this.gathering.delete(key);
      return this.setAsideFor(owners, answered, gathered);
    });
    this.gathering.set(key, { faults: gathered, owners, setAside });
    return setAside;
  }

  private async setAsideFor(
    owners: ReadonlySet<PartitionOwnership>,
    answered: AnsweredMessage,
    faults: readonly RejectedResult[],
  ): Promise<void> {
    const all = [...owners];
    const { signal, release } = whenAllAbort(new Set(all.map((owner) => owner.signal)));
    const stillAllowed = (): Promise<void> =>
      Promise.any(all.map(({ telling }) => telling.stillAllowed()));
    try {
      await this.setAside(answered, faults, { signal, stillAllowed });
    } finally {
      release();
    }
  }
}
