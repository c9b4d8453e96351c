import { type OutcomeSource } from '#libs/contracts';
import { type CommandResult, type RejectedResult } from './command-result.js';
import { ToldBefore } from './told-before.js';
import { type WrittenLetter } from './written-letter.js';

type Place = Pick<OutcomeSource, 'topic' | 'partition'>;

/** Of which messages, and of which of their machines where that matters, there is a dead letter. */
export class LettersBefore {
  /** Of orders: each machine may have one. */
  private readonly written = new ToldBefore();
  /** Of other messages, by topic and partition, then by offset. */
  private readonly letters = new Map<string, Map<number, WrittenLetter>>();

  /** @param orders full name of the topic of orders */
  constructor(private readonly orders: string) {}

  /** Others than an order's have one letter, whatever machines are found at fault the next time. */
  add(letter: WrittenLetter): void {
    const { source, machineIds = [null] } = letter;
    if (source.topic === this.orders) {
      for (const machineId of machineIds) this.written.add(source, machineId);
      return;
    }
    const key = keyOf(source);
    const letters = this.letters.get(key) ?? new Map<number, WrittenLetter>();
    this.letters.set(key, letters.set(source.offset, letter));
  }

  /**
   * What is to be told: of a list that a younger one has replaced by now, what its letter says. One that the
   * service takes now is applied all the same.
   */
  asWritten(source: OutcomeSource, results: readonly CommandResult[]): readonly CommandResult[] {
    // asked for every message: most of the time there is none
    if (this.letters.size === 0) return results;
    const letter = this.letters.get(keyOf(source))?.get(source.offset);
    if (letter === undefined) return results;
    return results.map((result) => {
      const { kind, machineId } = result;
      const isNamed = machineId !== null && letter.machineIds?.includes(machineId) !== false;
      return kind === 'superseded' && isNamed ? { ...letter.result, machineId } : result;
    });
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
    if (source.topic !== this.orders) return this.takeLetter(source) ? [] : faults;
    if (ofOneMachine) return faults.filter(isNew);
    // All that is found in the message itself is in one letter, which names no machine if there is but one.
    const isWritten = this.written.take(source, null);
    const newOnes = faults.filter(isNew);
    return isWritten || newOnes.length < faults.length ? [] : faults;
  }

  private takeLetter(source: OutcomeSource): boolean {
    const letters = this.letters.get(keyOf(source));
    const isThere = letters?.delete(source.offset) === true;
    if (letters?.size === 0) this.letters.delete(keyOf(source));
    return isThere;
  }

  forget(partition: Place): void {
    this.written.forget(partition);
    this.letters.delete(keyOf(partition));
  }

  forgetTopic(topic: string): void {
    this.written.forgetTopic(topic);
  }
}

function keyOf({ topic, partition }: Place): string {
  return `${topic}/${partition}`;
}
