import { differences } from './differences.js';
import type { TimelinePeriod } from './fold-states.js';
import { untruth } from './truth-of.js';

const at = (minute: number): number => 1_763_680_020 + minute * 60;

function period(state: TimelinePeriod['state'], from: number, to: number): TimelinePeriod {
  return { state, startTime: at(from), endTime: at(to) };
}

const TRUTH = [period('IDLE', 0, 10), period('OPERATING', 10, 20), period('OFF', 25, 40)];
const published = (...periods: TimelinePeriod[]): string | undefined =>
  untruth('M', TRUTH, periods, at(12));

describe('what is published of a machine', () => {
  it('is true from the period on that held when it was first watched', () => {
    expect(published(period('OPERATING', 10, 20), period('OFF', 25, Infinity))).toBeUndefined();
    expect(published(...TRUTH)).toBeUndefined();
  });

  it('departs from the truth where a state begins a minute late', () => {
    const late = [period('OPERATING', 10, 20), period('OFF', 26, Infinity)];
    expect(differences(TRUTH.slice(1), late.slice(0, 1))).toEqual([
      { startTime: at(25), endTime: at(40), expected: 'OFF', seen: null },
    ]);
    expect(published(...late)).toMatch(/expected OFF, seen nothing[^]*OPERATING[^]*OPERATING/);
  });

  it('departs from the truth where it goes on through minutes without data', () => {
    const through = [period('OPERATING', 10, 25), period('OFF', 25, Infinity)];
    expect(published(...through)).toContain('expected nothing, seen OPERATING');
  });

  it('departs from the truth where it begins in the middle of a period, or with a later one', () => {
    expect(published(period('OPERATING', 11, 20), period('OFF', 25, 40))).toContain('seen nothing');
    expect(published(period('OFF', 25, 40))).toContain('seen nothing');
    expect(published()).toContain('seen nothing');
  });

  it('departs from the truth where a machine of which nothing is known is said to be off', () => {
    const off = [period('OFF', 30, Infinity)];
    expect(untruth('M', [], off, at(12))).toContain('expected nothing, seen OFF');
    expect(untruth('M', [], [], at(12))).toBeUndefined();
  });
});
