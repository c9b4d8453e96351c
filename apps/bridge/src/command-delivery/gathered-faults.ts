import { realDelayMs, whenAllAbort } from '#libs/clock';
import { type OutcomeSource } from '#libs/contracts';
import { type AnsweredMessage } from './answered-message.js';
import { type RejectedResult } from './command-result.js';

/** Long beside what lies between the refusals of calls that one refused call was split into. */
const GATHER_MS = 300;

/** Sets the message aside; resolves once Kafka has acknowledged that, rejects when the signal aborts before. */
type SetAside = (
  answered: AnsweredMessage,
  faults: readonly RejectedResult[],
  signal: AbortSignal,
) => Promise<void>;

interface Gathering {
  faults: RejectedResult[];
  /** Of the messages of our own that wait for it: their partitions may be lost one by one. */
  lost: Set<AbortSignal>;
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
    const { signal } = answered.message.ownership;
    if (known !== undefined) {
      known.faults.push(...faults);
      known.lost.add(signal);
      return known.setAside;
    }
    const gathered = [...faults];
    const lost = new Set([signal]);
    const setAside = realDelayMs(GATHER_MS).then(() => {
      this.gathering.delete(key);
      return this.setAsideFor(lost, answered, gathered);
    });
    this.gathering.set(key, { faults: gathered, lost, setAside });
    return setAside;
  }

  private async setAsideFor(
    lost: ReadonlySet<AbortSignal>,
    answered: AnsweredMessage,
    faults: readonly RejectedResult[],
  ): Promise<void> {
    const { signal, release } = whenAllAbort(lost);
    try {
      await this.setAside(answered, faults, signal);
    } finally {
      release();
    }
  }
}
