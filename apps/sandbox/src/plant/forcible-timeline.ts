import type { MinuteState, Segment, Timeline } from './timeline.js';

const FORCED_SEGMENTS_REMEMBERED = 1000;

/** A timeline with spans that override its states, for tests that need a certain state. */
export class ForcibleTimeline implements Timeline {
  /** In order of time, without overlap. */
  private forced: Segment[] = [];

  constructor(private readonly base: Timeline) {}

  /** Forces `state` (null: no data) between two minutes, or until it is released. */
  force(state: MinuteState, fromMinute: number, toMinute = Infinity): void {
    this.release(fromMinute, toMinute);
    this.forced.push({ fromMinute, toMinute, state });
    this.forced.sort((a, b) => a.fromMinute - b.fromMinute);
    this.forced = this.forced.slice(-FORCED_SEGMENTS_REMEMBERED);
  }

  /** Restores the machine's own states between two minutes, or from the first on. */
  release(fromMinute: number, toMinute = Infinity): void {
    this.forced = this.forced
      .flatMap((segment) => [
        { ...segment, toMinute: Math.min(segment.toMinute, fromMinute) },
        { ...segment, fromMinute: Math.max(segment.fromMinute, toMinute) },
      ])
      .filter((segment) => segment.fromMinute < segment.toMinute);
  }

  get openForce(): Segment | undefined {
    return this.forced.find((segment) => segment.toMinute === Infinity);
  }

  segmentAt(minute: number): Segment {
    if (this.forced.length === 0) return this.base.segmentAt(minute);
    const holding = this.forced.find((s) => s.fromMinute <= minute && minute < s.toMinute);
    if (holding) return holding;
    const own = { ...this.base.segmentAt(minute) };
    for (const segment of this.forced) {
      if (segment.toMinute <= minute) own.fromMinute = Math.max(own.fromMinute, segment.toMinute);
      else own.toMinute = Math.min(own.toMinute, segment.fromMinute);
    }
    return own;
  }
}
