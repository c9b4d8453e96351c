import { CommitOfAssignment } from './commit-of-assignment.js';

describe('CommitOfAssignment', () => {
  let commit: CommitOfAssignment;

  beforeEach(() => {
    commit = new CommitOfAssignment();
    commit.assignedAnew();
  });

  /** What kafkajs goes by when a try has failed. */
  const refusal = (): unknown => {
    try {
      commit.assertUpToDate();
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('may be repeated as long as the assignment lasts', async () => {
    await commit.make(() => {
      expect([refusal(), refusal()]).toEqual([undefined, undefined]);
      commit.taken();
      return Promise.resolve();
    });
  });

  it('has not been made when kafkajs is done with it and Kafka has not taken it', async () => {
    const make = (): Promise<void> => commit.make(() => Promise.resolve());
    commit.taken();
    await expect(make()).rejects.toThrow('the consumer ended');
  });

  it('is not repeated under the next assignment, by kafkajs either', async () => {
    await commit.make(() => {
      commit.assignedAnew();
      expect(refusal()).toMatchObject({ retriable: false });
      commit.taken();
      return Promise.resolve();
    });
    await commit.make(() => {
      expect(refusal()).toBeUndefined();
      commit.taken();
      return Promise.resolve();
    });
  });

  it.each([
    ['ended', () => Promise.resolve()],
    ['failed', () => Promise.reject(new Error('no broker'))],
  ])(
    'does not stand in the way of what kafkajs commits by itself once it has %s',
    async (_, end) => {
      await commit.make(end).catch(() => undefined);
      commit.assignedAnew();
      expect(refusal()).toBeUndefined();
    },
  );
});
