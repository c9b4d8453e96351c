import { type OutcomeSource } from '#libs/contracts';
import { type RejectedResult } from './command-result.js';
import { ToldBefore } from './told-before.js';
import { type WrittenLetter } from './written-letter.js';

type Place = Pick<OutcomeSource, 'topic' | 'partition'>;

/** Of which messages, and of which of their machines where that matters, there is a dead letter. */
export class LettersBefore {
  private readonly written = new ToldBefore();

  /** @param orders full name of the topic of orders */
  constructor(private readonly orders: string) {}

  /** Others than an order's have one letter, whatever machines are found at fault the next time. */
  add({ source, machineIds }: WrittenLetter): void {
    const names = source.topic === this.orders ? (machineIds ?? [null]) : [null];
    for (const machineId of names) this.written.add(source, machineId);
  }

  /**
   * The faults that no letter tells of; what is known of one is forgotten with this.
   *
   * @param ofOneMachine found where an order's machine is dealt with, which has a letter of its own
   */
  lacking<F extends Pick<RejectedResult, 'machineId'>>(
    source: OutcomeSource,
    faults: readonly F[],
    ofOneMachine: boolean,
  ): readonly F[] {
    const isNew = ({ machineId }: F): boolean => !this.written.take(source, machineId);
    if (ofOneMachine) return faults.filter(isNew);
    // All that is found in the message itself is in one letter, which names no machine if there is but one.
    const isWritten = this.written.take(source, null);
    const newOnes = faults.filter(isNew);
    return isWritten || newOnes.length < faults.length ? [] : faults;
  }

  forget(partition: Place): void {
    this.written.forget(partition);
  }

  forgetTopic(topic: string): void {
    this.written.forgetTopic(topic);
  }
}
