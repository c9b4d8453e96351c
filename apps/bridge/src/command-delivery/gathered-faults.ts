import { realDelayMs } from '#libs/clock';
import { type OutcomeSource } from '#libs/contracts';
import { type AnsweredMessage } from './answered-message.js';
import { type RejectedResult } from './command-result.js';

/** Long beside what lies between the refusals of calls that one refused call was split into. */
const GATHER_MS = 300;

/** Sets the message aside; resolves once Kafka has acknowledged that. */
type SetAside = (answered: AnsweredMessage, faults: readonly RejectedResult[]) => Promise<void>;

/**
 * Faults of one message that are found at several machines, each on its own: what an order leads to. As far
 * as they come about together, and in this process, one dead letter tells of all of them.
 */
export class GatheredFaults {
  private readonly gathering = new Map<
    string,
    { faults: RejectedResult[]; setAside: Promise<void> }
  >();

  constructor(private readonly setAside: SetAside) {}

  /** Resolves once the message is set aside for these. */
  add(
    { topic, partition, offset }: OutcomeSource,
    answered: AnsweredMessage,
    faults: readonly RejectedResult[],
  ): Promise<void> {
    const key = `${topic}/${partition}/${offset}`;
    const known = this.gathering.get(key);
    if (known !== undefined) {
      known.faults.push(...faults);
      return known.setAside;
    }
    const gathered = [...faults];
    const setAside = realDelayMs(GATHER_MS).then(() => {
      this.gathering.delete(key);
      return this.setAside(answered, gathered);
    });
    this.gathering.set(key, { faults: gathered, setAside });
    return setAside;
  }
}
