import { RestBeforeJoin } from './rest-before-join.js';

describe('RestBeforeJoin', () => {
  let deadlines: number[];
  let comeToRest: () => void;
  let rest: RestBeforeJoin;

  beforeEach(() => {
    deadlines = [];
    rest = new RestBeforeJoin((deadlineMs) => {
      deadlines.push(deadlineMs);
      return new Promise((resolve) => {
        comeToRest = resolve;
      });
    }, 7000);
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
    const { done } = rest.begin(500);
    expect(rest.isWanted).toBe(true);
    expect(refusal()).toBeDefined();
    expect(rest.begin().done).toBe(done);
    expect(deadlines).toEqual([500]);
    comeToRest();
    await done;
    expect(rest.begin().isDone).toBe(true);
    expect(refusal()).toBeUndefined();
  });

  it('grants as long as it is told to where nothing else is asked for', () => {
    rest.begin();
    expect(deadlines).toEqual([7000]);
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
