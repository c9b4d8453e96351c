import { realNowMs } from '#libs/clock';
import type { InboundMessage } from '#libs/kafka';

const MARK_EVERY_MS = 600_000;
/** A week, the longest time after which an outcome may be given up. */
const MAX_MARKS = 1008;

/**
 * The time for which an outcome has waited for its callback. No wall clock is asked: where that of a host is set ahead,
 * an outcome would be given up that has hardly been tried.
 *
 * Within a process it is measured by the monotonic clock, from when the outcome was read. Across processes, and when
 * the group rejoins, it continues from a mark: each ten minutes that an outcome has waited are committed at its next
 * failed call, as a done item of its message beside the group's offset. Time since the latest mark is lost, as is all
 * time of outcomes whose own calls have not begun, so that an outcome is retried for too long rather than given up too
 * early.
 */
export class WaitedTime {
  private readonly sinceMs = realNowMs();
  private inheritedMs: number | undefined;
  private marks = 0;

  constructor(private readonly message: Pick<InboundMessage, 'isItemDone' | 'publish'>) {}

  /** Milliseconds; commits a new mark when one is due. */
  measure(nowMs = realNowMs()): number {
    this.inheritedMs ??= this.latestMark() * MARK_EVERY_MS;
    const waitedMs = this.inheritedMs + nowMs - this.sinceMs;
    const marks = Math.min(MAX_MARKS, Math.floor(waitedMs / MARK_EVERY_MS));
    if (marks > this.marks) this.message.publish([], marks);
    this.marks = marks;
    return waitedMs;
  }

  /** Searched only where a call has failed: most outcomes need none. */
  private latestMark(): number {
    for (let mark = MAX_MARKS; mark > 0; mark -= 1) {
      if (this.message.isItemDone(mark)) return mark;
    }
    return 0;
  }
}
