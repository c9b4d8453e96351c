import { realEpochMs } from '#libs/clock';
import { RestBeforeJoin } from './rest-before-join.js';

describe('RestBeforeJoin', () => {
  let deadlines: number[];
  let mayLastMs: number;
  let comeToRest: () => void;
  let rest: RestBeforeJoin;

  beforeEach(() => {
    deadlines = [];
    mayLastMs = 7000;
    const begin = (deadlineMs: number): Promise<void> => {
      deadlines.push(deadlineMs);
      return new Promise((resolve) => {
        comeToRest = resolve;
      });
    };
    rest = new RestBeforeJoin(begin, () => mayLastMs);
  });

  /** What kafkajs makes of the moment before joining: it tries again as long as the group is said to be rebalancing. */
  const refusal = (): unknown => {
    try {
      rest.assertAtRest();
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('is not wanted before there is a sign of a rebalance', () => {
    expect(rest.isWanted).toBe(false);
    expect(deadlines).toEqual([]);
  });

  it('keeps the member from joining until nothing is under way, in the way kafkajs tries again after', async () => {
    expect(refusal()).toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
    expect(refusal()).toBeInstanceOf(Error);
    comeToRest();
    await rest.begin().done;
    expect(refusal()).toBeUndefined();
    expect(rest.isWanted).toBe(true);
  });

  it('begins once, with the first sign of a rebalance, and with the deadline of that', async () => {
    mayLastMs = 500;
    const { done } = rest.begin();
    mayLastMs = 7000;
    expect(rest.isWanted).toBe(true);
    expect(refusal()).toBeDefined();
    expect(rest.begin().done).toBe(done);
    expect(deadlines).toEqual([500]);
    comeToRest();
    await done;
    expect(rest.begin().isDone).toBe(true);
    expect(refusal()).toBeUndefined();
  });

  it('is over at some time from which on the member may join, and not before', async () => {
    const { done } = rest.begin();
    expect(rest.doneEpochMs).toBe(Infinity);
    comeToRest();
    await done;
    await Promise.resolve();
    expect(rest.doneEpochMs).toBeLessThanOrEqual(realEpochMs());
    rest.end();
    expect(rest.doneEpochMs).toBe(Infinity);
  });

  it('is wanted anew for each rebalance', async () => {
    const first = rest.begin();
    comeToRest();
    await first.done;
    rest.end();
    expect(rest.isWanted).toBe(false);
    expect(refusal()).toBeDefined();
    expect(deadlines).toEqual([7000, 7000]);
    comeToRest();
    await rest.begin().done;
    expect(refusal()).toBeUndefined();
  });

  it('does not take the end of an earlier rest for that of a later one', async () => {
    const earlier = rest.begin();
    const endEarlier = comeToRest;
    rest.end();
    rest.begin();
    endEarlier();
    await earlier.done;
    expect(refusal()).toBeDefined();
  });
});
