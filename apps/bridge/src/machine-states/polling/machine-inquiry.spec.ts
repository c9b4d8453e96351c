import type { MachineStateReading } from '#libs/cloud-client';
import { MAX_AHEAD_SECONDS } from '../derivation/times-ahead.js';
import { ReadingIntake } from './machine-inquiry.js';

const NOW = 1_763_680_020;
const HOUR = 3600;

function reading(lastUpdateTime: number, durationInMinutes = 10): MachineStateReading {
  return { state: 'OPERATING', durationInMinutes, lastUpdateTime };
}

describe('ReadingIntake', () => {
  let reported: number[];
  let intake: ReadingIntake;

  const take = (stated: MachineStateReading, now: number): MachineStateReading =>
    intake.take(stated, now, () => reported.push(stated.lastUpdateTime));

  beforeEach(() => {
    reported = [];
    intake = new ReadingIntake();
  });

  it.each([-HOUR, 0, 180, MAX_AHEAD_SECONDS])(
    'leaves a reading alone that is %i s ahead',
    (ahead) => {
      expect(take(reading(NOW + ahead), NOW)).toEqual(reading(NOW + ahead));
      expect(reported).toEqual([]);
    },
  );

  it('has a reading that is further ahead count as of now', () => {
    const ahead = reading(NOW + MAX_AHEAD_SECONDS + 1);
    expect(take(ahead, NOW)).toEqual(reading(NOW));
  });

  it('has the same reading count as of the same moment, and a newer one as of now', () => {
    take(reading(NOW + HOUR), NOW);
    expect(take(reading(NOW + HOUR), NOW + 60)).toEqual(reading(NOW));
    expect(take(reading(NOW + HOUR), NOW + HOUR)).toEqual(reading(NOW));
    expect(take(reading(NOW + HOUR, 11), NOW + 60)).toEqual(reading(NOW + 60, 11));
  });

  it('reports the first reading in a row that is too far ahead', () => {
    for (const seconds of [0, 60]) take(reading(NOW + seconds + HOUR), NOW + seconds);
    take(reading(NOW + 120), NOW + 120);
    take(reading(NOW + 2 * HOUR), NOW + 180);
    expect(reported).toEqual([NOW + HOUR, NOW + 2 * HOUR]);
  });
});
