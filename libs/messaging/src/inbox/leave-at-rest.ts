import { type Cluster } from 'kafkajs';

/** In kafkajs but not in its types: the group's coordinator, as its consumer asks for it. */
interface GroupCoordinator {
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
}
interface CoordinatedCluster {
  findGroupCoordinator(request: { groupId: string }): Promise<GroupCoordinator>;
}

/**
 * Makes a consumer wait before it leaves the group, which hands its partitions on. One that crashes
 * leaves by itself, and says so only afterwards.
 */
export function leaveAtRest(cluster: Cluster, comeToRest: () => Promise<void>): void {
  const coordinated = cluster as unknown as CoordinatedCluster;
  const waiting = new WeakSet<GroupCoordinator>();
  const find = coordinated.findGroupCoordinator.bind(cluster);
  coordinated.findGroupCoordinator = async (request) => {
    const coordinator = await find(request);
    if (waiting.has(coordinator)) return coordinator;
    waiting.add(coordinator);
    const leave = coordinator.leaveGroup.bind(coordinator);
    coordinator.leaveGroup = async (leaving) => {
      await comeToRest();
      return leave(leaving);
    };
    return coordinator;
  };
}
