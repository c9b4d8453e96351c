import { type OutcomeSource } from '#libs/contracts';
import { type TakenOver } from '#libs/messaging';

/**
 * Whether the message that something was told of comes again for no other reason than a lost commit.
 *
 * @param toldMs when it was told, in epoch milliseconds
 * @param orders full name of the topic of orders
 */
export function isDeliveredAgain(
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  toldMs: number,
  partitions: readonly TakenOver[],
  orders: string,
): boolean {
  // What an order leads to is done in another partition than the one the order came through.
  if (source.topic === orders) return true;
  const own = partitions.find(
    ({ topic, partition }) => topic === source.topic && partition === source.partition,
  );
  if (own?.toldUntilMs === undefined) return false;
  return toldMs >= own.toldUntilMs && !own.isFinished(source.offset);
}
