import { type CreateManager, withCachedCoordinator } from './cached-coordinator.js';

describe('a coordinator, of transactions or of a group,', () => {
  const TRANSACTION = 1;
  const GROUP = 0;
  let leader: number;
  let gone: number | undefined;
  let lookedUp: number[];
  let failure: Error | undefined;
  let triesTwice: boolean;

  const cluster = () => ({
    findBroker: ({ nodeId }: { nodeId: string | number }) =>
      nodeId === gone ? Promise.reject(new Error('gone')) : Promise.resolve({ nodeId }),
    findGroupCoordinator: ({ coordinatorType }: { coordinatorType?: number }) => {
      lookedUp.push(coordinatorType ?? GROUP);
      return Promise.resolve({ nodeId: leader });
    },
  });
  /** Answers whom each of its requests went to. */
  const createManager: CreateManager = ({ cluster: given }) => {
    const ask = async (coordinatorType: number): Promise<unknown> => {
      const asked = { groupId: 'a', coordinatorType };
      if (triesTwice) await given.findGroupCoordinator(asked);
      const { nodeId } = await given.findGroupCoordinator(asked);
      if (failure !== undefined) throw failure;
      return nodeId;
    };
    const request = (): Promise<unknown> => ask(TRANSACTION);
    const sendOffsets = async (): Promise<unknown> => {
      await request();
      return ask(GROUP);
    };
    return {
      initProducerId: request,
      addPartitionsToTransaction: request,
      sendOffsets,
      commit: request,
      abort: request,
    };
  };
  const manager = () =>
    withCachedCoordinator(createManager)({ cluster: cluster(), transactional: true });

  beforeEach(() => {
    leader = 1;
    gone = undefined;
    lookedUp = [];
    failure = undefined;
    triesTwice = false;
  });

  it('is looked up again after a failure', async () => {
    const { addPartitionsToTransaction, commit, abort } = manager();
    expect(await addPartitionsToTransaction()).toBe(1);
    leader = 2;
    expect(await commit()).toBe(1);

    failure = new Error('not the coordinator');
    await expect(addPartitionsToTransaction()).rejects.toBe(failure);
    failure = undefined;

    expect(await abort()).toBe(2);
    expect(lookedUp).toHaveLength(2);
  });

  it('is looked up again when its broker cannot be reached', async () => {
    const { addPartitionsToTransaction, commit } = manager();
    await addPartitionsToTransaction();
    [leader, gone] = [2, 1];

    expect(await commit()).toBe(2);
  });

  it('is kept while it is still ending the previous transaction', async () => {
    const { initProducerId, addPartitionsToTransaction } = manager();
    await initProducerId();
    failure = Object.assign(new Error('wait'), { type: 'CONCURRENT_TRANSACTIONS' });
    await expect(addPartitionsToTransaction()).rejects.toBe(failure);
    failure = undefined;

    await addPartitionsToTransaction();
    expect(lookedUp).toHaveLength(1);
  });

  it('is not cached before it has answered', async () => {
    const { initProducerId } = manager();
    failure = new Error('not the coordinator');
    await expect(initProducerId()).rejects.toBe(failure);
    failure = undefined;
    leader = 2;

    expect(await initProducerId()).toBe(2);
  });

  it('is looked up again by a request that asks twice', async () => {
    const { commit, sendOffsets } = manager();
    await sendOffsets();
    leader = 2;
    triesTwice = true;

    expect(await commit()).toBe(2);
    expect(await sendOffsets()).toBe(2);
    expect(lookedUp).toEqual([TRANSACTION, GROUP, TRANSACTION, TRANSACTION, GROUP]);
  });

  it('is cached separately from the other', async () => {
    const { sendOffsets } = manager();
    await sendOffsets();
    leader = 2;

    expect(await sendOffsets()).toBe(1);
    expect(lookedUp).toEqual([TRANSACTION, GROUP]);
  });
});
