import { STATE_EVENT_TYPES, type StateChanged } from '#libs/contracts';
import { type SequencedEvent } from '../sequenced-event.js';
import { MINUTE, timeOf, type Timeline } from './simulated-service.js';

/** The latest version of each published period, as a subscriber keeps them: a correction replaces what it corrects. */
export function latestVersions(events: readonly SequencedEvent[]): StateChanged[] {
  const versions = new Map<string, StateChanged>();
  for (const { id, event } of events) {
    if (versions.has(id)) throw new Error(`two events are called ${id}`);
    if (event.type === STATE_EVENT_TYPES.changed) versions.set(id, event.data);
    if (event.type === STATE_EVENT_TYPES.corrected) {
      if (!versions.delete(event.data.corrects)) throw new Error('corrects what is not there');
      versions.set(id, event.data);
    }
  }
  return [...versions.values()];
}

/** The timeline as booked by each event for the period before it; the latest one is open. */
export function bookedTimeline(versions: readonly StateChanged[], minutes: number): Timeline {
  const timeline: Timeline = Array.from({ length: minutes }, () => null);
  const book = (state: Timeline[number], startTime: number, endTime: number): void => {
    for (let minute = minuteOf(startTime); minute < minuteOf(endTime); minute += 1) {
      if (timeline[minute] !== null) throw new Error(`minute ${minute} is booked twice`);
      timeline[minute] = state;
    }
  };
  for (const { previousState, previousStartTime, previousEndTime, startTime } of versions) {
    if (previousStartTime === null) continue;
    book(previousState, previousStartTime, previousEndTime ?? startTime);
  }
  const latest = inOrder(versions).at(-1);
  if (latest !== undefined) book(latest.state, latest.startTime, timeOf(minutes));
  return timeline;
}

/** The timeline if each period lasts until the next begins, which knows nothing of minutes without data. */
export function lastingTimeline(versions: readonly StateChanged[], minutes: number): Timeline {
  const timeline: Timeline = Array.from({ length: minutes }, () => null);
  for (const { state, startTime } of inOrder(versions)) {
    timeline.fill(state, Math.max(0, minuteOf(startTime)));
  }
  return timeline;
}

function inOrder(versions: readonly StateChanged[]): StateChanged[] {
  return [...versions].sort((a, b) => a.startTime - b.startTime);
}

export function minuteOf(time: number): number {
  return Math.floor((time - timeOf(0)) / MINUTE);
}
