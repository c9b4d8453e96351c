import { type Cluster } from 'kafkajs';
import { leaveAtRest } from './leave-at-rest.js';

describe('leaveAtRest', () => {
  it('keeps a consumer from leaving the group until calls are at rest, each time once', async () => {
    const log: string[] = [];
    const coordinator = {
      leaveGroup: ({ memberId }: { memberId: string }) =>
        Promise.resolve(log.push(`${memberId} leaves`)),
    };
    const cluster = { findGroupCoordinator: () => Promise.resolve(coordinator) };
    leaveAtRest(cluster as unknown as Cluster, () => {
      log.push('comes to rest');
      return Promise.resolve();
    });
    // kafkajs asks for the coordinator before each join, and is given the same one.
    await cluster.findGroupCoordinator();
    const found = await cluster.findGroupCoordinator();
    await found.leaveGroup({ memberId: 'A' });
    expect(log).toEqual(['comes to rest', 'A leaves']);
  });
});
