import { type IdempotentProducer } from '#libs/kafka';
import { type ImpossibleReplay, type PlannedReplay } from './plan-replay.js';
import { replayMark, withoutMark } from './replay-marks.js';

/** Puts messages back and marks their letters. */
export class Replayer {
  constructor(
    private readonly producer: Pick<IdempotentProducer, 'sendAll'>,
    private readonly marksTopic: string,
    private readonly nowSeconds: () => number,
  ) {}

  /**
   * Resolves once Kafka has acknowledged the messages and then the marks of their letters; a crash in
   * between leaves a message that was put back without a mark, and will be once more. Yields the
   * letters whose messages Kafka will never take.
   *
   * @throws when the producer is closed before
   */
  async replay(replays: readonly PlannedReplay[]): Promise<ImpossibleReplay[]> {
    const refused = await this.producer.sendAll(replays.map(({ original }) => original));
    const taken = replays.filter(({ original }) => !refused.has(original));
    await this.producer.sendAll(taken.map((one) => this.markOf(one)));
    return replays.flatMap(({ letter, original }) => {
      const refusal = refused.get(original);
      return refusal === undefined ? [] : [{ letter, why: refusal.message }];
    });
  }

  /** Drops marks whose letters are gone. */
  async forget(keys: readonly string[]): Promise<void> {
    await this.producer.sendAll(keys.map((key) => withoutMark(this.marksTopic, key)));
  }

  private markOf({ letter, original }: PlannedReplay): ReturnType<typeof replayMark> {
    const replay = { toTopic: original.topic, replayedAt: this.nowSeconds() };
    return replayMark(this.marksTopic, letter.record, replay);
  }
}
