import fc from 'fast-check';
import { PollPlan } from './poll-turns.js';

const MINUTE_MS = 60_000;
const T0_MS = 1_763_680_020_000;

describe('PollPlan', () => {
  it('polls a machine right after its own update', () => {
    const plan = new PollPlan(MINUTE_MS, 50);
    fc.assert(
      fc.property(fc.nat(MINUTE_MS - 1), (phase) => {
        const updatedMs = T0_MS + phase;
        const place = plan.take(updatedMs);
        const waitMs = plan.nextMs(place, updatedMs) - updatedMs;
        plan.leave(place);
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThanOrEqual(2000);
      }),
    );
  });

  it('comes round once an interval', () => {
    const plan = new PollPlan(MINUTE_MS, 50);
    fc.assert(
      fc.property(fc.nat(1e12), fc.nat(1e12), (updatedMs, nowMs) => {
        const place = plan.take(updatedMs);
        plan.leave(place);
        const first = plan.nextMs(place, nowMs);
        expect(first).toBeGreaterThan(nowMs);
        expect(first).toBeLessThanOrEqual(nowMs + MINUTE_MS);
        expect(plan.nextMs(place, first)).toBe(first + MINUTE_MS);
      }),
    );
  });

  it('spreads machines that are all updated at the same moment over the interval', () => {
    const plan = new PollPlan(MINUTE_MS, 50);
    const perSecond = new Array<number>(60).fill(0);
    for (let count = 0; count < 60_000; count += 1) {
      const second = Math.floor(plan.take(T0_MS).phaseMs / 1000);
      perSecond[second] = (perSecond[second] ?? 0) + 1;
    }
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(1200);
  });

  it('spreads them within a second as well', () => {
    const plan = new PollPlan(MINUTE_MS, 50);
    const phases = Array.from({ length: 50 }, () => plan.take(T0_MS).phaseMs);
    expect(new Set(phases).size).toBe(50);
    expect(new Set(phases.map((phase) => Math.floor(phase / 1000))).size).toBe(1);
  });

  it('gives the place of a machine that has left to another', () => {
    const plan = new PollPlan(MINUTE_MS, 1);
    const first = plan.take(T0_MS);
    expect(plan.take(T0_MS).slot).toBe(first.slot + 1);
    plan.leave(first);
    expect(plan.take(T0_MS).slot).toBe(first.slot);
  });

  it('moves a machine only when its update has moved', () => {
    const plan = new PollPlan(MINUTE_MS, 50);
    const place = plan.take(T0_MS);
    expect(plan.suits(place, T0_MS + MINUTE_MS)).toBe(true);
    expect(plan.suits(place, T0_MS - 2000)).toBe(true);
    expect(plan.suits(place, T0_MS + 2000)).toBe(true);
    expect(plan.suits(place, T0_MS + 10_000)).toBe(false);
    expect(plan.suits(place, T0_MS - 10_000)).toBe(false);
  });
});
