import { type Cluster } from '#libs/kafkajs-patches';
import { guardCoordinator } from './create-consumer.js';

describe('guardCoordinator', () => {
  let log: string[];
  let cluster: { findBroker: () => Promise<typeof coordinator> };
  const coordinator = {
    leaveGroup: ({ memberId }: { memberId: string }) =>
      Promise.resolve(log.push(`${memberId} leaves`)),
    syncGroup: (asked: { generationId: number }) =>
      Promise.resolve(log.push(`asks for ${asked.generationId}`)),
  };

  beforeEach(async () => {
    log = [];
    const found = { ...coordinator };
    cluster = { findBroker: () => Promise.resolve(found) };
    guardCoordinator(cluster as unknown as Cluster, {
      beforeLeave: () => {
        log.push('comes to rest');
        return Promise.resolve();
      },
      beforeSync: (generation) => log.push(`joined ${generation}`),
    });
    // kafkajs asks for the coordinator before each join, and is given the same one.
    await cluster.findBroker();
  });

  it('keeps a consumer from leaving the group until calls are at rest, each time once', async () => {
    const found = await cluster.findBroker();
    await found.leaveGroup({ memberId: 'A' });
    expect(log).toEqual(['comes to rest', 'A leaves']);
  });

  it('tells in which generation a member asks for its partitions', async () => {
    const found = await cluster.findBroker();
    await found.syncGroup({ generationId: 7 });
    expect(log).toEqual(['joined 7', 'asks for 7']);
  });
});
