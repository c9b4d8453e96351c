import { realEpochMs } from '#libs/clock';
import { RevocationBarrier } from './supervised-consumer.js';

describe('RestBeforeJoin', () => {
  let deadlines: number[];
  let mayLastMs: number;
  let comeToRest: () => void;
  let rest: RevocationBarrier;

  beforeEach(() => {
    deadlines = [];
    mayLastMs = 7000;
    const begin = (deadlineMs: number): Promise<void> => {
      deadlines.push(deadlineMs);
      return new Promise((resolve) => {
        comeToRest = resolve;
      });
    };
    rest = new RevocationBarrier(begin, () => mayLastMs);
  });

  /** What kafkajs makes of the moment before joining: it tries again as long as the group is said to be rebalancing. */
  const refusal = (): unknown => {
    try {
      rest.assertDrained();
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('is not wanted before there is a sign of a rebalance', () => {
    expect(rest.isRaised).toBe(false);
    expect(deadlines).toEqual([]);
  });

  it('keeps the member from joining until nothing is under way, in the way kafkajs tries again after', async () => {
    expect(refusal()).toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
    expect(refusal()).toBeInstanceOf(Error);
    comeToRest();
    await rest.raiseBarrier().drained;
    expect(refusal()).toBeUndefined();
    expect(rest.isRaised).toBe(true);
  });

  it('begins once, with the first sign of a rebalance, and with the deadline of that', async () => {
    mayLastMs = 500;
    const { drained: done } = rest.raiseBarrier();
    mayLastMs = 7000;
    expect(rest.isRaised).toBe(true);
    expect(refusal()).toBeDefined();
    expect(rest.raiseBarrier().drained).toBe(done);
    expect(deadlines).toEqual([500]);
    comeToRest();
    await done;
    expect(rest.raiseBarrier().isDrained).toBe(true);
    expect(refusal()).toBeUndefined();
  });

  it('is over at some time from which on the member may join, and not before', async () => {
    const { drained: done } = rest.raiseBarrier();
    expect(rest.drainedEpochMs).toBe(Infinity);
    comeToRest();
    await done;
    await Promise.resolve();
    expect(rest.drainedEpochMs).toBeLessThanOrEqual(realEpochMs());
    rest.lowerBarrier();
    expect(rest.drainedEpochMs).toBe(Infinity);
  });

  it('is wanted anew for each rebalance', async () => {
    const first = rest.raiseBarrier();
    comeToRest();
    await first.drained;
    rest.lowerBarrier();
    expect(rest.isRaised).toBe(false);
    expect(refusal()).toBeDefined();
    expect(deadlines).toEqual([7000, 7000]);
    comeToRest();
    await rest.raiseBarrier().drained;
    expect(refusal()).toBeUndefined();
  });

  it('does not take the end of an earlier rest for that of a later one', async () => {
    const earlier = rest.raiseBarrier();
    const endEarlier = comeToRest;
    rest.lowerBarrier();
    rest.raiseBarrier();
    endEarlier();
    await earlier.drained;
    expect(refusal()).toBeDefined();
  });
});
