import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import {
  type CreateFetchManager,
  type HeartbeatingGroupClass,
  type JoiningGroupClass,
  type RecoveringGroupClass,
  withFetchersEnded,
  withGrouplessReaders,
  withLeaderMoves,
  withoutGroup,
  withSteadyHeartbeats,
} from './consumer.js';

const require = createRequire(import.meta.url);

describe('a reader of a topic with a leaderless partition', () => {
  /** Partition 1 has one again once it is asked so often who leads it. */
  const fetchOf = (assigner: object, ledAfter: number): Promise<unknown> => {
    let asked = 0;
    class Group {
      readonly assigners = [assigner];
      readonly topics = ['t'];
      readonly cluster = {
        findTopicPartitionMetadata: () => [{ leader: 1 }, { leader: asked < ledAfter ? -1 : 2 }],
        refreshMetadataIfNecessary: () => Promise.resolve((asked += 1)),
      };
      fetch(nodeId: string): Promise<string> {
        return Promise.resolve(`of ${nodeId}`);
      }
    }
    const Reader = withGrouplessReaders(Group as unknown as JoiningGroupClass);
    return new Reader({} as never).fetch('1');
  };

  it('fetches nothing without a group until the partition has a leader', async () => {
    const type = 'LEADER_NOT_AVAILABLE';
    await expect(fetchOf(withoutGroup(), 2)).rejects.toMatchObject({ type });
    await expect(fetchOf(withoutGroup(), 1)).resolves.toBe('of 1');
  });

  it('fetches the others as a member of a group', async () => {
    await expect(fetchOf({}, Infinity)).resolves.toBe('of 1');
  });
});

describe('a consumer that fetches from a deleted topic', () => {
  const Group = withLeaderMoves(
    require('kafkajs/src/consumer/consumerGroup.js') as RecoveringGroupClass,
  );
  const recover = Reflect.get(Group.prototype as object, 'recoverFromFetch') as (
    this: object,
    error: Error,
  ) => Promise<void>;
  const goneTopic = (): Error =>
    Object.assign(new Error('gone'), { type: 'UNKNOWN_TOPIC_OR_PARTITION', retriable: true });

  /** How often it joins anew after an error, where metadata is asked for with that result. */
  const recoverWith = async (
    refreshMetadata: () => Promise<void>,
    error: Error = goneTopic(),
  ): Promise<number> => {
    let joined = 0;
    const group = {
      cluster: { refreshMetadata },
      logger: { debug: () => undefined },
      joinAndSync: () => Promise.resolve((joined += 1)),
    };
    await recover.call(group, error);
    return joined;
  };

  it.each([
    ['is still gone', goneTopic()],
    [
      'is gone once its leader has moved',
      Object.assign(new Error(), { type: 'NOT_LEADER_FOR_PARTITION' }),
    ],
  ])('ends where it %s', async (_, error) => {
    const refused = recoverWith(() => Promise.reject(goneTopic()), error);
    await expect(refused).rejects.toMatchObject({
      type: 'UNKNOWN_TOPIC_OR_PARTITION',
      retriable: false,
    });
  });

  it('rejoins if it exists again', async () => {
    await expect(recoverWith(() => Promise.resolve())).resolves.toBe(1);
  });
});

describe('a consumer that is stopped while brokers have become others', () => {
  const create = withFetchersEnded(
    require('kafkajs/src/consumer/fetchManager.js') as CreateFetchManager,
  );
  const logger = { namespace: () => logger, debug: () => undefined, info: () => undefined };

  it('fetches no more once the fetches under way have ended', async () => {
    let nodeIds = [1, 2];
    let isRunning = true;
    let askedInVain = 0;
    const answers = new Map<number, () => void>();
    const options = {
      ...{ logger, getNodeIds: () => nodeIds, handler: () => Promise.resolve() },
      fetch: (nodeId: number): Promise<readonly unknown[]> => {
        if (isRunning) return new Promise((resolve) => answers.set(nodeId, () => resolve([])));
        askedInVain += 1;
        // nothing else would have a turn
        return askedInVain < 100 ? Promise.resolve([]) : Promise.reject(new Error('for ever'));
      },
    };
    const manager = create(options);
    const started = manager.start();
    nodeIds = [1, 3];
    answers.get(1)!();
    await new Promise(setImmediate);
    isRunning = false;
    const stopped = manager.stop();
    answers.get(2)!();
    await Promise.all([started, stopped]);
    expect(askedInVain).toBe(0);
  });
});

describe('a member of a group whose clock is set', () => {
  const Group = withSteadyHeartbeats(
    require('kafkajs/src/consumer/consumerGroup.js') as HeartbeatingGroupClass,
  );

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    [-3_600_000, [0, 0, 0, 1, 1, 1, 2]],
    [0, [0, 0, 0, 1, 1, 1, 2]],
    // A host that was suspended: the monotonic clock stood still.
    [3_600_000, [1, 1, 1, 2, 2, 2, 3]],
  ])('sends heartbeats in time after a step of %i ms', async (shiftMs, expected) => {
    let [wallMs, monotonicMs, sent] = [1_763_680_000_000, 1000, 0];
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
    const options = { logger: { namespace: () => ({}) }, cluster: {}, topics: [], assigners: [] };
    const group = new Group(options as never);
    const coordinator = { heartbeat: () => Promise.resolve((sent += 1)) };
    const instrumentationEmitter = { emit: () => undefined };
    Object.assign(group, { memberId: 'a', coordinator, instrumentationEmitter });
    wallMs += shiftMs;
    const sentAfter: number[] = [];
    for (let seconds = 0; seconds < 7; seconds += 1) {
      await group.heartbeat({ interval: 3000 });
      sentAfter.push(sent);
      wallMs += 1000;
      monotonicMs += 1000;
    }
    expect(sentAfter).toEqual(expected);
  });
});
