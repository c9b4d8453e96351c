import { realNowMs } from '#libs/clock';
import { WaitedTime } from './waited-time.js';

const MINUTE = 60_000;

/** A message in the offset metadata of its group. */
class MarkedMessage {
  readonly marks: number[] = [];

  isItemDone(item: number): boolean {
    return this.marks.includes(item);
  }

  publish(records: readonly unknown[], item = 0): void {
    expect(records).toEqual([]);
    this.marks.push(item);
  }
}

/** The minutes waited by a process that reads the message now, after each of these numbers of minutes. */
function minutesWaited(message: MarkedMessage, ...after: number[]): number[] {
  const waited = new WaitedTime(message);
  const nowMs = realNowMs();
  return after.map((minutes) => Math.round(waited.measure(nowMs + minutes * MINUTE) / MINUTE));
}

describe('the time that an outcome has waited', () => {
  it('is marked every ten minutes, once', () => {
    const message = new MarkedMessage();
    expect(minutesWaited(message, 1, 9, 11, 12, 35)).toEqual([1, 9, 11, 12, 35]);
    expect(message.marks).toEqual([1, 3]);
  });

  it('continues from the latest mark in the next process', () => {
    const message = new MarkedMessage();
    minutesWaited(message, 39);
    expect(minutesWaited(message, 1, 12)).toEqual([31, 42]);
    expect(minutesWaited(message, 1)).toEqual([41]);
  });

  it('is measured for a week', () => {
    const message = new MarkedMessage();
    const week = 7 * 24 * 60;
    expect(minutesWaited(message, week + 30)).toEqual([week + 30]);
    expect(minutesWaited(message, 0)).toEqual([week]);
  });
});
