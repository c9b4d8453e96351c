import { type Outbox, RecordRefusedError } from '#libs/messaging';
import { type ImpossibleReplay, type PlannedReplay } from './plan-replay.js';
import { replayMark, withoutMark } from './replay-marks.js';

/** Puts messages back and marks their letters. */
export class Replayer {
  constructor(
    private readonly outbox: Pick<Outbox, 'send'>,
    private readonly marksTopic: string,
    private readonly nowSeconds: () => number,
  ) {}

  /**
   * Resolves once Kafka has acknowledged the messages and then the marks of their letters; a crash in
   * between leaves a message that was put back without a mark, and will be once more. Yields the
   * letters whose messages Kafka will never take.
   *
   * @throws when the outbox is closed before
   */
  async replay(replays: readonly PlannedReplay[]): Promise<ImpossibleReplay[]> {
    const sent = replays.map((one) => this.putBack(one));
    const refusals = await Promise.all(sent);
    const taken = replays.filter((_, index) => refusals[index] === undefined);
    await Promise.all(taken.map((one) => this.mark(one)));
    return refusals.filter((refusal) => refusal !== undefined);
  }

  /** Drops marks whose letters are gone. */
  async forget(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.outbox.send(withoutMark(this.marksTopic, key))));
  }

  private async putBack({
    letter,
    original,
  }: PlannedReplay): Promise<ImpossibleReplay | undefined> {
    try {
      await this.outbox.send(original);
      return undefined;
    } catch (error) {
      if (error instanceof RecordRefusedError) return { letter, why: error.message };
      throw error;
    }
  }

  private mark({ letter, original }: PlannedReplay): Promise<void> {
    const replay = { toTopic: original.topic, replayedAt: this.nowSeconds() };
    return this.outbox.send(replayMark(this.marksTopic, letter.record, replay));
  }
}
