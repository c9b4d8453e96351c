import { type OutcomeSource } from '#libs/contracts';
import { type DeadLetters } from '#libs/messaging';
import { type AnsweredMessage } from './answered-message.js';
import { type RejectedResult } from './command-result.js';
import { GatheredFaults, type LetterPermit } from './gathered-faults.js';

/** Writes the dead letters of messages that are rejected, in whole or for some of their machines. */
export class RejectedMessages {
  private readonly gathered = new GatheredFaults((answered, faults, permit) =>
    this.write(answered, faults, true, permit),
  );

  constructor(private readonly deadLetters: DeadLetters) {}

  /**
   * Resolves once Kafka has acknowledged the dead letter.
   *
   * @param faults one at least
   * @param namesSeveral the message names other machines beside
   */
  setAside(
    source: OutcomeSource,
    answered: AnsweredMessage,
    faults: readonly RejectedResult[],
    namesSeveral: boolean,
  ): Promise<void> {
    // What one of our own messages tells of is found at one machine; the message it came from may name more.
    if (answered.origin !== undefined) return this.gathered.add(source, answered, faults);
    const { signal, telling } = answered.message.ownership;
    return this.write(answered, faults, namesSeveral || answered.namesOthers === true, {
      signal,
      stillAllowed: () => telling.stillAllowed(),
    });
  }

  private async write(
    { message, origin }: AnsweredMessage,
    faults: readonly RejectedResult[],
    namesSeveral: boolean,
    permit: LetterPermit,
  ): Promise<void> {
    const named = faults.find(isUnmapped) ?? faults[0];
    if (named === undefined) return;
    const { rejection, attempts, httpStatus } = named;
    const machineIds = faults.flatMap(({ machineId }) => (machineId === null ? [] : [machineId]));
    const original = await origin?.read(permit.signal);
    const { record, remark } = original ?? { record: message, remark: undefined };
    await permit.stillAllowed();
    await this.deadLetters.publish(record, {
      ...rejection,
      ...(remark !== undefined && { detail: `${rejection.detail}; ${remark}` }),
      attempts,
      ...(httpStatus !== undefined && { httpStatus }),
      ...(namesSeveral && machineIds.length > 0 && { machineIds }),
    });
  }
}

/** A letter is found by its code, to be replayed once the work centre is mapped; other faults beside it stay. */
function isUnmapped({ rejection }: RejectedResult): boolean {
  return rejection.code === 'unmapped-work-centre';
}
